#include "support/report.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fatctx::bench {
namespace {

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "-";
  if (bytes % 1'000'000 == 0) return fmt::format("{} MB", bytes / 1'000'000);
  if (bytes >= 1U << 20U) return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1U << 20U));
  return fmt::format("{:.4g} KiB", static_cast<double>(bytes) / 1024.0);
}

std::string figure(double value, const std::string& unit) {
  const bool whole = unit == "count" || unit == "bytes" || value >= 1000;
  return fmt::format("{:.{}f}", value, whole ? 0 : 2);
}

std::string ratio_text(const std::optional<double>& ratio) { return ratio ? fmt::format("{:.2f}", *ratio) : "-"; }

constexpr std::size_t kColumns = 11;
using Cells = std::array<std::string, kColumns>;

Cells cells_of(const Row& row) {
  return {row.what,
          row.policy,
          row.cache,
          size_text(row.size_bytes),
          row.unit,
          figure(row.minimum, row.unit),
          figure(row.median, row.unit),
          ratio_text(row.ratio_of_minima),
          ratio_text(row.median_ratio),
          row.target ? row.target->text : "-",
          row.target ? (row.target->reached ? "yes" : "NO") : "-"};
}

}  // namespace

Row timed_row(std::string what, std::string policy, std::uint64_t size_bytes, const Timing& timing) {
  Row row;
  row.what = std::move(what);
  row.policy = std::move(policy);
  row.size_bytes = size_bytes;
  row.minimum = timing.minimum_us;
  row.median = timing.median_us;
  row.ratio_of_minima = timing.ratio_of_minima;
  row.median_ratio = timing.median_ratio;
  return row;
}

Target at_most(const std::string& what, double found, double limit) {
  return {fmt::format("{} <= {:g}", what, limit), found <= limit};
}

Target at_least(const std::string& what, double found, double limit) {
  return {fmt::format("{} >= {:g}", what, limit), found >= limit};
}

std::string as_table(const Report& report, const Machine& machine) {
  std::vector<Cells> lines = {
      {"what", "verified", "cache", "size", "unit", "min", "median", "min ratio", "med ratio", "target", "reached"}};
  for (const Row& row : report.rows) lines.push_back(cells_of(row));
  std::array<std::size_t, kColumns> widths = {};
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text =
      fmt::format("{}\nworkload: {}\nmachine:  {}, {} cores, {}, {}, {}\n", report.question, report.workload,
                  machine.cpu, machine.cores, machine.kernel, machine.filesystem, machine.build);
  for (const std::string& note : report.notes) text += fmt::format("note:     {}\n", note);
  text += '\n';
  for (const Cells& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < kColumns; ++i) {
      const bool number = i >= 5 && i <= 8;
      row += fmt::format(fmt::runtime(number ? "{:>{}}  " : "{:<{}}  "), line[i], widths[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

std::string as_json(const Report& report, const Machine& machine) {
  const auto ratio = [](const std::optional<double>& value) { return value ? nlohmann::json(*value) : nullptr; };
  const nlohmann::ordered_json on = {{"cpu", machine.cpu},
                                     {"cores", machine.cores},
                                     {"kernel", machine.kernel},
                                     {"filesystem", machine.filesystem},
                                     {"build", machine.build}};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Row& row : report.rows) {
    nlohmann::ordered_json json = {{"what", row.what},
                                   {"verified", row.policy},
                                   {"cache", row.cache},
                                   {"size_bytes", row.size_bytes},
                                   {"unit", row.unit},
                                   {"minimum", row.minimum},
                                   {"median", row.median},
                                   {"ratio_of_minima", ratio(row.ratio_of_minima)},
                                   {"median_ratio", ratio(row.median_ratio)},
                                   {"target", nullptr},
                                   {"reached", nullptr},
                                   {"machine", on}};
    if (row.target) {
      json["target"] = row.target->text;
      json["reached"] = row.target->reached;
    }
    rows.push_back(std::move(json));
  }
  const nlohmann::ordered_json whole = {{"schema", "fatctx.bench/1"},
                                        {"question", report.question},
                                        {"workload", report.workload},
                                        {"notes", report.notes},
                                        {"rows", std::move(rows)}};
  return whole.dump(2) + "\n";
}

}  // namespace fatctx::bench
