// Cuts a container into pieces, each of which one set of records uses: what treemap and map draw.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace fatctx::tools {

enum class PieceKind : std::uint8_t { kShared, kOwn, kDead, kTables, kPadding, kTail };

struct Piece {
  PieceKind kind = PieceKind::kPadding;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::vector<std::uint32_t> records;  // ids of those that use it, ascending
  std::string_view label;              // static storage

  [[nodiscard]] std::uint64_t end() const { return offset + size; }
};

// Returns the pieces in the order of the file: every byte is in exactly one, and neighbours that belong to the same
// records are one. `info` is what `info --json --extents` says.
[[nodiscard]] std::vector<Piece> pieces_of(const Json& info);

// Read members of a document that the command wrote itself: 0 and "" stand for those that are not there.
[[nodiscard]] std::uint64_t number_in(const Json& object, std::string_view key);
[[nodiscard]] std::string text_in(const Json& object, std::string_view key);
[[nodiscard]] const Json::Array& items_in(const Json& object, std::string_view key);

}  // namespace fatctx::tools
