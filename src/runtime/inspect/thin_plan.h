// Decides which pages of a thin DLC are mapped from the container and which are built. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fatctx/base/bytes.h"
#include "mapping/stitched_region.h"

namespace fatctx {

// A run of the thin DLC. All runs together, in order and without gaps, are the whole DLC.
struct ThinPart {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::uint64_t target = 0;   // in the thin DLC
  std::uint64_t size = 0;     // at least 1
  std::size_t entry = kNone;  // the entry of the archive's layout that has the bytes; kNone: headers and the like
  std::uint64_t offset = 0;   // within the entry, within the archive's other bytes, or within `bytes`
  ByteView bytes = {};        // if not empty, the bytes themselves
  bool fresh = true;          // built without permission: no payload, or a negligible amount
};

// A run of the thin DLC whose bytes are stored in the file.
struct ThinRun {
  std::uint64_t target = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t size = 0;
};

struct ThinPlan {
  std::vector<mapping::MixedPiece> pieces;  // each but the last ends at a page
  std::uint64_t new_bytes = 0;              // of built pages that contain fresh parts
  std::uint64_t copied_bytes = 0;           // of built pages that contain only payload
};

// Maps the whole pages of `runs` whose offset within a page is the same in both files. `base` is the offset of the
// container in the mapped file; empty if nothing of it can be mapped. While there are too many pieces, the shorter runs
// are built.
// Requires: parts and runs are in order and do not overlap, parts have no gaps; `page` is a power of two.
[[nodiscard]] ThinPlan plan_thin(const std::vector<ThinPart>& parts, const std::vector<ThinRun>& runs,
                                 std::uint64_t page, std::optional<std::uint64_t> base, std::uint64_t most_pieces);

}  // namespace fatctx
