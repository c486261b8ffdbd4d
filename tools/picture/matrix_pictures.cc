// The pictures that are tables: who shares with whom, and what each device gets.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fatctx/select.h"
#include "tools/cli/print.h"
#include "tools/cli/whole_container.h"
#include "tools/picture/file_pieces.h"
#include "tools/picture/pictures.h"
#include "tools/picture/svg.h"

namespace fatctx::tools {

namespace {

constexpr std::size_t kMostInMatrix = 60;  // records, as in the page
constexpr double kRow = 22;
constexpr double kMostNameRoom = 240;
constexpr double kMostHeadRoom = 150;
constexpr double kMargin = 8;

// Returns the room for the longest of the names, at most `most`.
double room_for(const std::vector<std::string>& names, double most) {
  std::size_t letters = 0;
  for (const std::string& name : names) letters = std::max(letters, escaped(name).size());
  return std::min(width_of(letters) + 2 * kMargin, most);
}

// The places of a table: names on the left and above, and cells of one size.
struct GridPlace {
  double top = 0;
  double name_room = 0;
  double head_room = 0;
  double cell = 0;
  int first_column = 0;  // the columns before it have no name above them
};

// Draws a table row by row.
class Grid {
 public:
  Grid(Svg& svg, const GridPlace& place) : svg_(svg), place_(place) {}

  void add_head(std::string_view name) {
    const double x = place_.name_room + place_.cell * (place_.first_column + heads_) + place_.cell / 2 + 4;
    svg_.text({.x = x, .y = place_.top + place_.head_room - 6, .upwards = true}, name, place_.head_room - kMargin);
    ++heads_;
  }
  void begin_row(std::string_view name) {
    ++rows_;
    columns_ = 0;
    svg_.text({.x = place_.name_room - kMargin, .y = bottom() - 7, .anchor = Svg::Anchor::kEnd}, name,
              place_.name_room - kMargin);
  }
  void add_cell(std::string_view text, std::string_view title, std::string_view colour, double opacity,
                std::string_view ink) {
    const double x = place_.name_room + place_.cell * columns_;
    svg_.begin(title);
    svg_.rectangle({x + 1, bottom() - kRow + 1, x + place_.cell - 1, bottom() - 1}, colour, opacity, 2);
    svg_.text({.x = x + place_.cell / 2, .y = bottom() - 7, .colour = ink, .anchor = Svg::Anchor::kMiddle}, text,
              place_.cell);
    svg_.end();
    ++columns_;
  }
  [[nodiscard]] double bottom() const { return place_.top + place_.head_room + kRow * rows_; }

 private:
  Svg& svg_;
  GridPlace place_;
  int heads_ = 0;
  int rows_ = 0;
  int columns_ = 0;
};

struct Sharer {
  std::uint32_t id = 0;
  std::string name;
  std::uint64_t size = 0;
  std::map<std::uint32_t, std::uint64_t> shared_with;
};

// Returns the records that share bytes with another one.
std::vector<Sharer> sharers_of(const Json& info) {
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>> shared;
  const Json* const sharing = info.find("sharing");
  if (sharing != nullptr) {
    for (const Json& row : items_in(*sharing, "records")) {
      for (const Json& other : items_in(row, "shared_with")) {
        shared[static_cast<std::uint32_t>(number_in(row, "record"))]
              [static_cast<std::uint32_t>(number_in(other, "record"))] = number_in(other, "bytes");
      }
    }
  }
  std::vector<Sharer> sharers;
  for (const Json& record : items_in(info, "records")) {
    const auto id = static_cast<std::uint32_t>(number_in(record, "id"));
    const auto found = shared.find(id);
    if (found == shared.end()) continue;
    std::string name = text_in(record, "name");
    if (name.empty()) name = fmt::format("#{}", id);
    sharers.push_back({id, std::move(name), number_in(record, "size_bytes"), found->second});
  }
  return sharers;
}

std::string percent_text(double share) {
  const double value = 100 * share;
  return value >= 10 ? fmt::format("{:.0f} %", value) : fmt::format("{:.1f} %", value);
}

void add_sharing_cell(const Sharer& row, const Sharer& column, Grid& grid) {
  if (row.id == column.id) {
    grid.add_cell(short_size_text(row.size), fmt::format("{}: {}", row.name, size_text(row.size)), "plain", 1, "soft");
    return;
  }
  const auto both = row.shared_with.find(column.id);
  const std::string names = fmt::format("{} and {}", row.name, column.name);
  if (both == row.shared_with.end() || row.size == 0) {
    grid.add_cell("-", names + ": nothing", "paper", 1, "soft");
    return;
  }
  const double share = std::min(static_cast<double>(both->second) / static_cast<double>(row.size), 1.0);
  constexpr double kStrongest = 0.62;
  grid.add_cell(percent_text(share), fmt::format("{}: {}", names, size_text(both->second)), "shared",
                share * kStrongest, "ink");
}

std::string_view colour_of_level(Level level) {
  switch (level) {
    case Level::kOptimal:
      return "good";
    case Level::kPreferRecompilation:
      return "middle";
    case Level::kFallback:
      return "weak";
    case Level::kUnsupported:
      break;
  }
  return "bad";
}

// Returns the first records of each group that has context binaries; without any, of each that has source models.
std::map<std::string, std::vector<const Candidate*>> drawn_groups(const std::vector<Candidate>& candidates) {
  const auto is_binary = [](const Candidate& candidate) { return candidate.key.type == RecordType::kContextBinary; };
  const bool binaries = std::any_of(candidates.begin(), candidates.end(), is_binary);
  std::map<std::string, std::vector<const Candidate*>> groups;
  for (const Candidate& candidate : candidates) {
    const bool judged = is_binary(candidate) || candidate.key.type == RecordType::kSourceModel;
    if (!judged || (binaries && !is_binary(candidate))) continue;
    std::vector<const Candidate*>& drawn = groups[std::string(candidate.key.group)];
    if (drawn.size() < kMostInMatrix) drawn.push_back(&candidate);
  }
  return groups;
}

// Draws one group of records and what each device gets of it. Returns where it ends.
double draw_coverage(const std::string& group, const std::vector<const Candidate*>& drawn,
                     const std::vector<CoveredDevice>& covered, const SelectPolicy& policy, GridPlace place, Svg& svg) {
  std::vector<std::string> names;
  names.reserve(drawn.size());
  for (const Candidate* const candidate : drawn) names.emplace_back(candidate->name);
  place.head_room = room_for(names, kMostHeadRoom);
  Grid grid(svg, place);
  svg.text({.x = kMargin, .y = place.top + place.head_room - 6, .bold = true}, group, place.name_room - kMargin);
  for (const std::string& name : names) grid.add_head(name);
  for (const CoveredDevice& row : covered) {
    const Selection& selection = row.selection;
    const std::string& device = row.asked.name;
    grid.begin_row(device);
    const bool gets = !selection.chosen.empty();
    grid.add_cell(gets ? fmt::format("T{}", selection.tier) : "none",
                  fmt::format("{}: {}", device, gets ? level_name(selection.level) : "nothing fits"),
                  gets ? colour_of_level(selection.level) : "bad", 1, "ink");
    std::map<std::uint32_t, const Verdict*> verdicts;
    for (const Verdict& verdict : selection.verdicts) verdicts.emplace(verdict.record_id, &verdict);
    for (const Candidate* const candidate : drawn) {
      const Verdict& verdict = *verdicts.at(candidate->record_id);
      const bool passed = verdict.axis == Axis::kOutranked || verdict.axis == Axis::kIncomplete;
      const std::string_view colour = verdict.chosen ? colour_of_level(verdict.level) : passed ? "plain" : "paper";
      grid.add_cell(verdict.chosen ? fmt::format("T{}", verdict.tier) : std::string(axis_id(verdict.axis)),
                    fmt::format("{}, {}: {}", device, candidate->name,
                                explain_verdict(verdict, *candidate, row.asked.device, policy)),
                    colour, 1, verdict.chosen ? "ink" : "soft");
    }
  }
  return grid.bottom() + kMargin;
}

}  // namespace

std::string sharing_picture(const Json& info) {
  constexpr double kCell = 76;
  std::vector<Sharer> sharers = sharers_of(info);
  const std::size_t all = sharers.size();
  sharers.resize(std::min(all, kMostInMatrix));
  std::vector<std::string> names;
  names.reserve(sharers.size());
  for (const Sharer& sharer : sharers) names.push_back(sharer.name);
  const double name_room = room_for(names, kMostNameRoom);
  Svg svg;
  Grid grid(svg, {.top = 0, .name_room = name_room, .head_room = room_for(names, kMostHeadRoom), .cell = kCell});
  for (const Sharer& column : sharers) grid.add_head(column.name);
  for (const Sharer& row : sharers) {
    grid.begin_row(row.name);
    for (const Sharer& column : sharers) add_sharing_cell(row, column, grid);
  }
  double width = name_room + kCell * static_cast<double>(sharers.size()) + kMargin;
  double height = grid.bottom() + kMargin;
  if (sharers.empty()) {
    width = kMostNameRoom;
    height = kRow + kMargin;
    svg.text({.x = kMargin, .y = kRow - 4}, "No two records share bytes.", width);
  } else if (sharers.size() < all) {
    svg.text({.x = kMargin, .y = height + kRow - 10},
             fmt::format("The first {} of {} records that share.", sharers.size(), all), width - kMargin);
    height += kRow;
  }
  return svg.document(fmt::format("Sharing in {}: the part of each row's record that the column's "
                                  "record uses too",
                                  text_in(info, "file")),
                      width, height);
}

Result<std::string> coverage_picture(const Container& container, const std::vector<NamedDevice>& devices,
                                     const SocTable& table) {
  constexpr double kCell = 84;
  const std::vector<Candidate> candidates = all_candidates(container);
  const std::map<std::string, std::vector<const Candidate*>> groups = drawn_groups(candidates);
  Svg svg;
  std::vector<std::string> names;
  names.reserve(devices.size() + groups.size());
  for (const NamedDevice& device : devices) names.push_back(device.name);
  for (const auto& [group, drawn] : groups) names.push_back(group);
  GridPlace place{.top = 0, .name_room = room_for(names, kMostNameRoom), .cell = kCell, .first_column = 1};
  std::size_t columns = 0;
  for (const auto& [group, drawn] : groups) {
    SelectPolicy policy;
    policy.soc_table = table;
    policy.group = groups.size() > 1 ? group : "";
    FATCTX_ASSIGN(const std::vector<CoveredDevice> covered, cover(container, devices, policy));
    place.top = draw_coverage(group, drawn, covered, policy, place, svg);
    columns = std::max(columns, drawn.size());
  }
  if (groups.empty()) {
    place = {.top = kRow + kMargin, .name_room = kMostNameRoom};
    svg.text({.x = kMargin, .y = kRow - 4}, "No record is for a device.", kMostNameRoom);
  }
  return svg.document(fmt::format("Coverage of {}: for each device a tier, or the axis that decided", container.path()),
                      place.name_room + kCell * static_cast<double>(columns + 1) + kMargin, place.top);
}

}  // namespace fatctx::tools
