#include "tools/picture/file_pieces.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace fatctx::tools {

namespace {

struct ExtentWords {
  std::string_view kind;
  PieceKind piece;
  std::string_view label;
};

// Names extents, and parts of them, that no record uses.
constexpr std::array kExtents = {
    ExtentWords{"header", PieceKind::kTables, "header"},
    ExtentWords{"toc copy 0", PieceKind::kTables, "table of contents"},
    ExtentWords{"toc copy 1", PieceKind::kTables, "table of contents, second copy"},
    ExtentWords{"leaves", PieceKind::kTables, "hashes of 64 KiB pieces"},
    ExtentWords{"sha256 leaves", PieceKind::kTables, "SHA-256 of 64 KiB pieces"},
    ExtentWords{"dead", PieceKind::kDead, "dead bytes of earlier generations"},
    ExtentWords{"payload", PieceKind::kPadding, "not used by a slice"},
    ExtentWords{"packed", PieceKind::kPadding, "padding between small records"},
};

const ExtentWords& words_of(std::string_view kind) {
  const auto* const found =
      std::find_if(kExtents.begin(), kExtents.end(), [&](const ExtentWords& words) { return words.kind == kind; });
  return found == kExtents.end() ? kExtents.front() : *found;
}

// Where a slice of a record begins or ends in the file.
struct Edge {
  std::uint64_t at = 0;
  int change = 0;
  std::uint32_t record = 0;
};
using EdgesOfSegments = std::map<std::uint64_t, std::vector<Edge>>;

EdgesOfSegments edges_of(const Json& extents) {
  EdgesOfSegments edges;
  for (const Json& of_record : items_in(extents, "records")) {
    const auto record = static_cast<std::uint32_t>(number_in(of_record, "record"));
    for (const Json& slice : items_in(of_record, "slices")) {
      const std::uint64_t offset = number_in(slice, "offset");
      std::vector<Edge>& list = edges[number_in(slice, "segment")];
      list.push_back({offset, 1, record});
      list.push_back({offset + number_in(slice, "size"), -1, record});
    }
  }
  for (auto& [segment, list] : edges) {
    std::stable_sort(list.begin(), list.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  }
  return edges;
}

void add(Piece piece, std::vector<Piece>& pieces) {
  if (piece.size == 0) return;
  if (!pieces.empty()) {
    Piece& last = pieces.back();
    if (last.kind == piece.kind && last.label == piece.label && last.end() == piece.offset &&
        last.records == piece.records) {
      last.size += piece.size;
      return;
    }
  }
  pieces.push_back(std::move(piece));
}

// Adds the pieces of a segment between its edges.
void add_used(const std::vector<Edge>& edges, std::uint64_t start, std::uint64_t end, std::string_view unused,
              std::vector<Piece>& pieces) {
  std::map<std::uint32_t, int> open;  // how often each record uses the bytes here
  std::uint64_t at = start;
  const auto add_until = [&](std::uint64_t next) {
    if (next <= at) return;
    Piece piece{.offset = at, .size = next - at, .records = {}, .label = unused};
    for (const auto& [record, times] : open) piece.records.push_back(record);
    if (!piece.records.empty()) {
      const bool alone = piece.records.size() == 1;
      piece.kind = alone ? PieceKind::kOwn : PieceKind::kShared;
      piece.label = alone ? "own bytes" : "shared bytes";
    }
    add(std::move(piece), pieces);
    at = next;
  };
  for (const Edge& edge : edges) {
    add_until(edge.at);
    if ((open[edge.record] += edge.change) == 0) open.erase(edge.record);
  }
  add_until(end);
}

}  // namespace

std::uint64_t number_in(const Json& object, std::string_view key) {
  const Json* const value = object.find(key);
  return value == nullptr || value->number() == nullptr ? 0 : *value->number();
}

std::string text_in(const Json& object, std::string_view key) {
  const Json* const value = object.find(key);
  return value == nullptr || value->text() == nullptr ? std::string() : *value->text();
}

const Json::Array& items_in(const Json& object, std::string_view key) {
  static const Json::Array kNone;
  const Json* const value = object.find(key);
  return value == nullptr || value->items() == nullptr ? kNone : *value->items();
}

std::vector<Piece> pieces_of(const Json& info) {
  std::vector<Piece> pieces;
  const Json* const extents = info.find("extents");
  if (extents == nullptr) return pieces;
  const EdgesOfSegments edges = edges_of(*extents);
  std::uint64_t end = 0;
  for (const Json& extent : items_in(*extents, "extents")) {
    const std::uint64_t offset = number_in(extent, "offset");
    if (offset > end) add({.offset = end, .size = offset - end, .records = {}, .label = "padding"}, pieces);
    end = offset + number_in(extent, "size");
    const ExtentWords& words = words_of(text_in(extent, "kind"));
    const Json* const segment = extent.find("segment");
    const auto used = segment == nullptr || segment->number() == nullptr ? edges.end() : edges.find(*segment->number());
    if (used == edges.end()) {
      add({.kind = words.piece, .offset = offset, .size = end - offset, .records = {}, .label = words.label}, pieces);
    } else {
      add_used(used->second, offset, end, words.label, pieces);
    }
  }
  const std::uint64_t committed = number_in(info, "committed_end");
  const std::uint64_t size = number_in(info, "file_size");
  add({.kind = PieceKind::kTail,
       .offset = committed,
       .size = size - std::min(committed, size),
       .records = {},
       .label = "tail of an unfinished append"},
      pieces);
  return pieces;
}

}  // namespace fatctx::tools
