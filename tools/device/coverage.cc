#include "tools/device/coverage.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/soc_table.h"
#include "tools/cli/print.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

constexpr const char* kProcessors[] = {"x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};
constexpr std::string_view kCpu = "cpu";

std::string without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlanks) - first + 1));
}

Status add_words(std::string_view list, std::vector<std::string>& words) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (std::string word = without_blanks(list.substr(0, comma)); !word.empty()) words.push_back(std::move(word));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return Done{};
}

Status add_lines_of(const std::string& path, std::vector<std::string>& words) {
  FATCTX_ASSIGN(const std::string text, read_text_file(path));
  std::istringstream file(text);
  for (std::string line; std::getline(file, line);) {
    FATCTX_TRY(add_words(std::string_view(line).substr(0, line.find('#')), words));
  }
  return Done{};
}

// Returns true if the table knows the part's arch or runtime, or if a record is for this very part.
bool can_be_judged(const Soc& soc, std::span<const Candidate> candidates) {
  if (!soc.arch.empty() || !soc.runtime.empty()) return true;
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    const SelectionKey& key = candidate.key;
    return key.part == soc.part || (soc.qnn_soc && key.qnn_soc == *soc.qnn_soc);
  });
}

// Returns the names of the records that a device got; empty if it got none.
std::vector<std::string> chosen_names(const Container& container, const Selection& selection) {
  std::vector<std::string> names;
  for (const std::uint32_t id : selection.chosen) {
    const auto record = container.record(id);
    if (record.ok()) names.emplace_back(record.value().name);
  }
  return names;
}

// Returns how many records each axis refused, or left behind a better one, in the order of the records.
std::vector<std::pair<std::string_view, int>> counts_of_axes(const Selection& selection) {
  std::vector<std::pair<std::string_view, int>> counts;
  for (const Verdict& verdict : selection.verdicts) {
    if (verdict.chosen) continue;
    const std::string_view id = axis_id(verdict.axis);
    const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& row) { return row.first == id; });
    if (known == counts.end()) {
      counts.emplace_back(id, 1);
    } else {
      ++known->second;
    }
  }
  return counts;
}

// Returns the axes that refused a device that gets nothing, the most frequent first.
std::string reasons(const Selection& selection) {
  auto counts = counts_of_axes(selection);
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [id, count] : counts) text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, id);
  return text.empty() ? "no context binary" : text;
}

Json axes_json(const Selection& selection) {
  Json axes = Json::object();
  for (const auto& [id, count] : counts_of_axes(selection)) axes.add(std::string(id), count);
  return axes;
}

std::size_t uncovered_count(std::span<const CoveredDevice> devices) {
  return static_cast<std::size_t>(
      std::count_if(devices.begin(), devices.end(), [](const CoveredDevice& d) { return d.selection.chosen.empty(); }));
}

}  // namespace

Result<std::vector<NamedDevice>> known_devices(std::span<const Candidate> candidates, const DeviceFlags& flags,
                                               const SocTable& table) {
  std::set<std::string_view> backends;
  for (const Candidate& candidate : candidates) backends.insert(candidate.key.backend);
  std::vector<NamedDevice> devices;
  if (backends.contains(kCpu)) {
    for (const char* const name : kProcessors) {
      FATCTX_ASSIGN(Device device, device_from_text(name, table));
      devices.push_back({name, std::move(device)});
    }
  }
  for (const Soc& soc : table.socs()) {
    if (!soc.alias_of.empty()) continue;
    FATCTX_ASSIGN(Device device, device_from_text(soc.part, table));
    if (!backends.contains(device.backend) || !can_be_judged(soc, candidates)) continue;
    FATCTX_TRY(add_stated_facts(flags, device));
    devices.push_back({soc.part, std::move(device)});
  }
  return devices;
}

Result<std::vector<NamedDevice>> listed_devices(const std::string& list, const DeviceFlags& flags,
                                                const SocTable& table) {
  std::vector<std::string> words;
  if (list.starts_with('@')) {
    FATCTX_TRY(add_lines_of(list.substr(1), words));
  } else {
    FATCTX_TRY(add_words(list, words));
  }
  if (words.empty()) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("the list of devices \"{}\" names none; name some, such as SM8650,SM8750,x86-64-v3", list)};
  }
  std::vector<NamedDevice> devices;
  for (std::string& word : words) {
    FATCTX_ASSIGN(Device device, device_from_text(word, table));
    FATCTX_TRY(add_stated_facts(flags, device));
    devices.push_back({std::move(word), std::move(device)});
  }
  return devices;
}

Result<std::vector<CoveredDevice>> cover(const Container& container, std::vector<NamedDevice> devices,
                                         const SelectPolicy& policy) {
  std::vector<CoveredDevice> covered;
  covered.reserve(devices.size());
  for (NamedDevice& device : devices) {
    FATCTX_ASSIGN(Selection selection, container.select(device.device, policy));
    covered.push_back({std::move(device), std::move(selection)});
  }
  return covered;
}

std::string coverage_text(const Container& container, std::span<const CoveredDevice> devices) {
  Table table({{"device"}, {"backend"}, {"arch"}, {"chosen"}, {"tier"}, {"level"}, {"refused by"}});
  for (const CoveredDevice& row : devices) {
    const Selection& selection = row.selection;
    const bool covered = !selection.chosen.empty();
    table.add_row({row.asked.name, row.asked.device.backend, row.asked.device.arch.value_or("-"),
                   covered ? fmt::format("{}", fmt::join(chosen_names(container, selection), ", ")) : "-",
                   covered ? fmt::format("T{}", selection.tier) : "-",
                   covered ? std::string(level_name(selection.level)) : "-", covered ? "" : reasons(selection)});
  }
  const std::size_t missing = uncovered_count(devices);
  const std::string verdict =
      fmt::format("{} of {} get a record", devices.size() - missing, count_text(devices.size(), "device"));
  return table.text() + "\n" + (missing == 0 ? good(verdict) : bad(verdict)) + "\n";
}

Json coverage_json(const Container& container, std::span<const CoveredDevice> devices) {
  Json rows = Json::array();
  for (const CoveredDevice& row : devices) {
    const Selection& selection = row.selection;
    const bool covered = !selection.chosen.empty();
    rows.push_back({{"name", row.asked.name},
                    {"device", Json::written(device_to_json(row.asked.device))},
                    {"chosen", chosen_names(container, selection)},
                    {"tier", covered ? Json(selection.tier) : Json()},
                    {"level", level_name(selection.level)},
                    {"warnings", selection.warnings},
                    {"axes", axes_json(selection)},
                    {"code", covered ? Json() : Json(selection.vendor_code)}});
  }
  return {{"schema", "fatctx.coverage/1"},
          {"container", container.path()},
          {"covered", devices.size() - uncovered_count(devices)},
          {"devices", std::move(rows)}};
}

}  // namespace fatctx::tools
