// The pictures of the file and its bytes: treemap, map, generations.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cli/print.h"
#include "tools/picture/file_pieces.h"
#include "tools/picture/pictures.h"
#include "tools/picture/svg.h"
#include "tools/picture/treemap.h"

namespace fatctx::tools {

namespace {

constexpr double kFileWidth = 1080;
constexpr double kTreemapHeight = 520;
constexpr TreemapStyle kTreemapStyle{.gap = 2, .head = 20};
constexpr double kLineHeight = 14;

std::string_view colour_of_type(std::string_view type) {
  if (type == "context_binary") return "binary";
  if (type == "weight_blob") return "weights";
  if (type == "source_model" || type == "wrapper_model") return "model";
  return "other";
}

struct NamedRecord {
  std::string name;
  std::string type;
};
using Records = std::map<std::uint32_t, NamedRecord>;

Records records_of(const Json& info) {
  Records records;
  for (const Json& record : items_in(info, "records")) {
    const auto id = static_cast<std::uint32_t>(number_in(record, "id"));
    std::string name = text_in(record, "name");
    records[id] = {name.empty() ? fmt::format("#{}", id) : std::move(name), text_in(record, "type")};
  }
  return records;
}

std::string names_of(const std::vector<std::uint32_t>& ids, const Records& records) {
  std::vector<std::string> names;
  for (const std::uint32_t id : ids) {
    const auto found = records.find(id);
    names.push_back(found == records.end() ? fmt::format("#{}", id) : found->second.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// A tile of the treemap: the pieces that mean the same.
struct Tile {
  std::string name;
  std::string_view colour;
  std::uint64_t size = 0;
};

struct TileGroup {
  std::string_view name;
  std::vector<Tile> tiles;  // the largest first

  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t sum = 0;
    for (const Tile& tile : tiles) sum += tile.size;
    return sum;
  }
};

// Pieces belong to one tile if they belong to the same records, or, without any, have the same label.
TileGroup group_of(PieceKind kind, std::string_view name, const std::vector<Piece>& pieces, const Records& records) {
  TileGroup group{name, {}};
  std::map<std::pair<std::vector<std::uint32_t>, std::string_view>, std::size_t> places;
  for (const Piece& piece : pieces) {
    if (piece.kind != kind) continue;
    const auto [place, is_new] = places.try_emplace({piece.records, piece.label}, group.tiles.size());
    if (!is_new) {
      group.tiles[place->second].size += piece.size;
      continue;
    }
    Tile tile{std::string(piece.label), "tables", piece.size};
    if (kind == PieceKind::kOwn) {
      const auto owner = records.find(piece.records.front());
      tile.name = names_of(piece.records, records);
      tile.colour = colour_of_type(owner == records.end() ? "" : owner->second.type);
    } else if (kind == PieceKind::kShared) {
      tile.name = fmt::format("{} records: {}", piece.records.size(), names_of(piece.records, records));
      tile.colour = "shared";
    } else if (kind == PieceKind::kDead || kind == PieceKind::kTail) {
      tile.colour = "dead";
    } else if (kind == PieceKind::kPadding) {
      tile.colour = "padding";
    }
    group.tiles.push_back(std::move(tile));
  }
  std::stable_sort(group.tiles.begin(), group.tiles.end(),
                   [](const Tile& a, const Tile& b) { return a.size > b.size; });
  return group;
}

std::vector<TileGroup> groups_of(const Json& info) {
  constexpr std::pair<PieceKind, std::string_view> kGroups[] = {
      {PieceKind::kShared, "shared bytes"},      {PieceKind::kOwn, "own bytes"},   {PieceKind::kDead, "dead bytes"},
      {PieceKind::kTables, "header and tables"}, {PieceKind::kPadding, "padding"}, {PieceKind::kTail, "tail"},
  };
  const std::vector<Piece> pieces = pieces_of(info);
  const Records records = records_of(info);
  std::vector<TileGroup> groups;
  for (const auto& [kind, name] : kGroups) {
    TileGroup group = group_of(kind, name, pieces, records);
    if (!group.tiles.empty()) groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const TileGroup& a, const TileGroup& b) { return a.size() > b.size(); });
  return groups;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.1f} % of the file",
                     whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void draw_tile(const Tile& tile, const Rectangle& place, std::uint64_t file_size, Svg& svg) {
  svg.begin(fmt::format("{}: {}, {}", tile.name, size_text(tile.size), share_text(tile.size, file_size)));
  // A piece that is too thin to be seen gets a line.
  const double x = std::min(place.x0, kFileWidth - 1);
  const double y = std::min(place.y0, kTreemapHeight - 1);
  svg.rectangle({x, y, x + std::max(place.width(), 1.0), y + std::max(place.height(), 1.0)}, tile.colour, 1, 2);
  const double room = place.width() - 10;
  if (place.height() > kLineHeight + 4 && place.width() > 40) {
    const std::string_view ink = tile.colour == "padding" ? "ink" : "on-tile";
    svg.text({.x = place.x0 + 5, .y = place.y0 + kLineHeight, .colour = ink}, tile.name, room);
    if (place.height() > 2 * kLineHeight + 6) {
      svg.text({.x = place.x0 + 5, .y = place.y0 + 2 * kLineHeight, .colour = ink}, short_size_text(tile.size), room);
    }
  }
  svg.end();
}

std::string name_of_file(const Json& info) { return text_in(info, "file"); }

}  // namespace

std::string treemap_picture(const Json& info) {
  const std::vector<TileGroup> groups = groups_of(info);
  std::vector<std::vector<std::uint64_t>> sizes;
  for (const TileGroup& group : groups) {
    std::vector<std::uint64_t>& of_group = sizes.emplace_back();
    for (const Tile& tile : group.tiles) of_group.push_back(tile.size);
  }
  const auto placed = treemap_of_groups(kFileWidth, kTreemapHeight, sizes, kTreemapStyle);
  const std::uint64_t file_size = number_in(info, "file_size");
  Svg svg;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Rectangle& place = placed[i].place;
    svg.begin(fmt::format("{}: {}", groups[i].name, size_text(groups[i].size())));
    svg.rectangle({place.x0, place.y0, place.x1, place.y0 + std::min(kTreemapStyle.head - 2, place.height())}, "group");
    svg.text({.x = place.x0 + 5, .y = place.y0 + 13, .bold = true},
             fmt::format("{}, {}", groups[i].name, short_size_text(groups[i].size())), place.width() - 8);
    svg.end();
    for (std::size_t j = 0; j < groups[i].tiles.size(); ++j) {
      draw_tile(groups[i].tiles[j], placed[i].tiles[j], file_size, svg);
    }
  }
  return svg.document(fmt::format("Treemap of {}", name_of_file(info)), kFileWidth, kTreemapHeight);
}

std::string map_picture(const Json& info) {
  constexpr double kMapHeight = 56;
  constexpr double kBarHeight = 36;
  constexpr double kHidden = 0.5;  // pieces smaller than half a pixel are not drawn
  const Records records = records_of(info);
  const std::uint64_t file_size = number_in(info, "file_size");
  const double scale = kFileWidth / static_cast<double>(std::max<std::uint64_t>(file_size, 1));
  Svg svg;
  for (const Piece& piece : pieces_of(info)) {
    const double width = static_cast<double>(piece.size) * scale;
    if (piece.kind == PieceKind::kPadding && width < kHidden) continue;
    std::string name(piece.label);
    std::string_view colour = "tables";
    if (piece.kind == PieceKind::kOwn) {
      const auto owner = records.find(piece.records.front());
      colour = colour_of_type(owner == records.end() ? "" : owner->second.type);
    } else if (piece.kind == PieceKind::kShared) {
      colour = "shared";
    } else if (piece.kind == PieceKind::kPadding) {
      colour = "padding";
    } else if (piece.kind != PieceKind::kTables) {
      colour = "dead";
    }
    if (!piece.records.empty()) name += fmt::format(" of {}", names_of(piece.records, records));
    svg.begin(fmt::format("{}: {} at {}", name, size_text(piece.size), offset_text(piece.offset)));
    const double x = static_cast<double>(piece.offset) * scale;
    svg.rectangle({x, 0, x + std::max(width, 1.0), kBarHeight}, colour);
    svg.end();
  }
  constexpr int kTicks = 4;
  for (int i = 0; i <= kTicks; ++i) {
    const auto anchor = i == 0 ? Svg::Anchor::kStart : i == kTicks ? Svg::Anchor::kEnd : Svg::Anchor::kMiddle;
    const auto offset = static_cast<std::uint64_t>(std::llround(static_cast<double>(file_size) * i / kTicks));
    svg.text({.x = kFileWidth * i / kTicks, .y = kMapHeight - 4, .anchor = anchor},
             i == 0 ? "0" : short_size_text(offset), kFileWidth / kTicks);
  }
  return svg.document(fmt::format("Map of {}, from its first byte to its last", name_of_file(info)), kFileWidth,
                      kMapHeight);
}

std::string generations_picture(const Json& info) {
  constexpr double kHeight = 92;
  struct State {
    std::uint64_t number;
    std::uint64_t size;
  };
  std::vector<State> states;
  for (const Json& earlier : items_in(info, "earlier_generations")) {
    states.push_back({number_in(earlier, "number"), number_in(earlier, "committed_end")});
  }
  states.push_back({number_in(info, "generation"), number_in(info, "committed_end")});
  std::uint64_t longest = 1;
  for (const State& state : states) longest = std::max(longest, state.size);
  const auto count = static_cast<double>(states.size());
  const double step = kFileWidth / std::max(count, 2.0);
  Svg svg;
  svg.line(step / 2, 36, step * (count - 0.5), 36, "line");
  for (std::size_t i = 0; i < states.size(); ++i) {
    const State& state = states[i];
    const bool present = i + 1 == states.size();
    const double x = step * (static_cast<double>(i) + 0.5);
    const double share = static_cast<double>(state.size) / static_cast<double>(longest);
    svg.begin(fmt::format("generation {}: {}", state.number, size_text(state.size)));
    svg.circle(x, 36, 6 + 12 * std::sqrt(share), present ? "binary" : "tables");
    svg.text({.x = x, .y = 40, .colour = "on-tile", .anchor = Svg::Anchor::kMiddle, .bold = true},
             fmt::format("{}", state.number), step);
    svg.text({.x = x, .y = 76, .anchor = Svg::Anchor::kMiddle},
             fmt::format("{}{}", short_size_text(state.size), present ? ", present" : ""), step);
    svg.end();
  }
  return svg.document(fmt::format("Generations of {}", name_of_file(info)), kFileWidth, kHeight);
}

}  // namespace fatctx::tools
