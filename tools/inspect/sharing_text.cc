#include "tools/inspect/sharing_text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/whole_container.h"

namespace fatctx::tools {
namespace {

using Align = Table::Align;

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kNameWidth = 24;
constexpr std::size_t kTargetWidth = 60;
constexpr std::uint64_t kBarWidth = 16;
constexpr std::size_t kListedSharers = 2;

struct BarStyle {
  std::string_view own;
  std::string_view shared;
};

BarStyle style_of(Bars bars) { return bars == Bars::kBlocks ? BarStyle{"█", "░"} : BarStyle{"#", "-"}; }

// Truncates between characters, so that the rest is valid UTF-8.
std::string shortened(std::string text, std::size_t width) {
  constexpr std::string_view kCut = "...";
  std::size_t letters = 0;
  std::size_t keep = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    if (starts && letters++ == width - kCut.size()) keep = i;
  }
  if (letters <= width) return text;
  return text.substr(0, keep) + std::string(kCut);
}

std::string repeated(std::string_view mark, std::uint64_t count) {
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) text += mark;
  return text;
}

// Returns the length of a part of the bar. A part that is not zero is visible.
std::uint64_t bar_part(std::uint64_t bytes, std::uint64_t largest) {
  if (bytes == 0) return 0;
  const double part = static_cast<double>(bytes) / static_cast<double>(largest) * static_cast<double>(kBarWidth);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::llround(part)), 1, kBarWidth);
}

class ReportText {
 public:
  ReportText(const Container& container, const SharingReport& report, Bars bars)
      : container_(container), report_(report), style_(style_of(bars)) {}

  [[nodiscard]] std::string text() const {
    return fmt::format("{}\n{}{}\n{}\n{}", records(), sharers(), groups(), totals(), targets());
  }

 private:
  [[nodiscard]] std::string name_of(std::uint32_t id) const {
    const auto record = container_.record(id);
    const bool named = record.ok() && !record.value().name.empty();
    return shortened(named ? std::string(record.value().name) : fmt::format("record {}", id), kNameWidth);
  }

  [[nodiscard]] std::string records() const {
    std::uint64_t largest = 1;
    for (const RecordSharing& record : report_.records) {
      largest = std::max(largest, record.own_bytes + record.shared_bytes);
    }
    Table table({{"id", Align::kRight},
                 {"name"},
                 {"size", Align::kRight},
                 {"own", Align::kRight},
                 {"shared", Align::kRight},
                 {"pieces", Align::kRight},
                 {"composed", Align::kRight},
                 {fmt::format("own {} shared {}", style_.own, style_.shared)}});
    for (const RecordSharing& record : report_.records) {
      const std::uint64_t stored = bar_part(record.own_bytes + record.shared_bytes, largest);
      const std::uint64_t shared = std::min(bar_part(record.shared_bytes, largest),
                                            record.own_bytes == 0 ? stored : std::max<std::uint64_t>(stored, 2) - 1);
      table.add_row({fmt::format("{}", record.record_id), name_of(record.record_id), short_size_text(record.size_bytes),
                     short_size_text(record.own_bytes), short_size_text(record.shared_bytes), grouped(record.pieces),
                     short_size_text(record.composed_bytes),
                     repeated(style_.own, stored > shared ? stored - shared : 0) + repeated(style_.shared, shared)});
    }
    return table.text();
  }

  // The empty line after the block is part of it, because the block may be missing.
  [[nodiscard]] std::string sharers() const {
    std::string text;
    for (const RecordSharing& record : report_.records) {
      if (record.shared_with.empty()) continue;
      std::vector<std::string> others;
      for (const fatctx::SharedBytes& other : record.shared_with) {
        if (others.size() == kListedSharers) break;
        others.push_back(fmt::format("{} with {}", short_size_text(other.bytes), name_of(other.record_id)));
      }
      std::string line = fmt::format("{} shares {}", name_of(record.record_id), fmt::join(others, ", "));
      if (record.sharer_count > others.size()) {
        line = fmt::format("{} and {} more", shortened(line, kLineWidth - 18), record.sharer_count - others.size());
      }
      text += escaped(shortened(line, kLineWidth)) + "\n";
    }
    text += references();
    return text.empty() ? text : text + "\n";
  }

  // Returns a line for each weight blob. Binaries that refer to it share it without bytes of their own.
  [[nodiscard]] std::string references() const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> users;
    for (const RecordInfo& record : all_records(container_)) {
      for (const std::uint32_t weights : record.weights) users[weights].push_back(record.id);
    }
    std::string text;
    for (const auto& [weights, binaries] : users) {
      const auto record = container_.record(weights);
      if (!record.ok()) continue;
      text += escaped(shortened(fmt::format("{}, {}, is stored once for {}: {}", name_of(weights),
                                            short_size_text(record.value().size_bytes),
                                            count_text(binaries.size(), "record"), fmt::join(names_of(binaries), ", ")),
                                kLineWidth)) +
              "\n";
    }
    return text;
  }

  [[nodiscard]] std::vector<std::string> names_of(const std::vector<std::uint32_t>& ids) const {
    std::vector<std::string> names;
    names.reserve(ids.size());
    for (const std::uint32_t id : ids) names.push_back(name_of(id));
    return names;
  }

  [[nodiscard]] std::string groups() const {
    Table table({{"group", Align::kRight},
                 {"records", Align::kRight},
                 {"base"},
                 {"size", Align::kRight},
                 {"stored", Align::kRight},
                 {"different", Align::kRight}});
    std::size_t number = 0;
    for (const SharingLayoutGroup& group : report_.layout_groups) {
      table.add_row({fmt::format("{}", ++number), grouped(group.records.size()), name_of(group.records.front()),
                     short_size_text(group.size_bytes), short_size_text(group.stored_bytes),
                     short_size_text(group.distinct_bytes)});
    }
    return number == 0 ? "layout groups: no record can share pages\n" : "layout groups\n" + table.text("  ");
  }

  [[nodiscard]] std::string totals() const {
    const SharingTotals& totals = report_.totals;
    Block block;
    block.add("all records", size_text(totals.input_bytes));
    block.add("sharing off", size_text(totals.off_bytes));
    for (const PageTotal& total : totals.pages) {
      block.add(fmt::format("pages of {} KiB", total.page_bytes / 1024), "at least " + size_text(total.bytes));
    }
    block.add("bytes", "at most " + size_text(totals.bytes_at_most));
    block.add("stored in this file", size_text(totals.stored_bytes));
    return block.text();
  }

  [[nodiscard]] std::string targets() const {
    if (report_.targets.empty()) return "one chip alone: no record is for one chip\n";
    Table table({{"one chip alone"}, {"records", Align::kRight}, {"size", Align::kRight}});
    for (const TargetSharing& target : report_.targets) {
      table.add_row({shortened(target.target, kTargetWidth), grouped(target.records.size()),
                     short_size_text(target.alone_bytes)});
    }
    return table.text();
  }

  const Container& container_;
  const SharingReport& report_;
  BarStyle style_;
};

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // the first that is set decides
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace

std::string sharing_report_text(const Container& container, const SharingReport& report, Bars bars) {
  return ReportText(container, report, bars).text();
}

Bars bars_of_terminal() {
  const char* plain = std::getenv("NO_COLOR");
  if ((plain != nullptr && *plain != '\0') || !stdout_is_terminal() || !speaks_utf8()) return Bars::kAscii;
  return Bars::kBlocks;
}

}  // namespace fatctx::tools
