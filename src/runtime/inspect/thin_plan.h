// Which pages of a thin DLC are pages of the container, and which have to be built. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fatctx/base/bytes.h"
#include "mapping/stitched_region.h"

namespace fatctx {

// A run of the thin DLC; one behind the other they are all of it.
struct ThinPart {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::uint64_t target = 0;   // in the thin DLC
  std::uint64_t size = 0;     // at least 1
  std::size_t entry = kNone;  // of the archive's layout, whose bytes they are; kNone: headers and the like
  std::uint64_t offset = 0;   // in the entry; in the archive's other bytes, or in `bytes`
  ByteView bytes = {};        // not empty: these
  bool fresh = true;          // is built without being asked for: no payload, or too little to speak of
};

// Bytes of the thin DLC that lie in the file.
struct ThinRun {
  std::uint64_t target = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t size = 0;
};

struct ThinPlan {
  std::vector<mapping::MixedPiece> pieces;  // each but the last ends at a page
  std::uint64_t new_bytes = 0;              // built pages with something fresh
  std::uint64_t copied_bytes = 0;           // built pages with nothing but payload
};

// Maps the whole pages of `runs` that lie the same way in a page of both. `base` is where the container begins in the
// file that is mapped; empty if nothing of it can be mapped. While the pieces are too many, short runs are built.
// Requires: parts and runs are in order and apart, parts without gap; `page` is a power of two.
[[nodiscard]] ThinPlan plan_thin(const std::vector<ThinPart>& parts, const std::vector<ThinRun>& runs,
                                 std::uint64_t page, std::optional<std::uint64_t> base, std::uint64_t most_pieces);

}  // namespace fatctx
