// Decides which bytes of a record a view maps from the file and which bytes it builds. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "container/read/recipe.h"
#include "mapping/stitched_region.h"

namespace fatctx {

struct ComposeHost {
  std::uint64_t page_bytes = 0;
  // The offset of the container in the mapped file; empty if nothing of the file can be mapped.
  std::optional<std::uint64_t> base = {};
  std::uint64_t most_pieces = 0;
};

// A list of pieces, one after the other and without gaps; each but the last ends at a page boundary.
struct ComposePlan {
  std::vector<mapping::MixedPiece> pieces;
  std::uint64_t built_bytes = 0;  // in whole pages
};

// Plans to map runs of at least 8 pages. If there are too many pieces, the shortest runs are built instead.
// Requires: pages are a power of two, and most_pieces is not 0.
[[nodiscard]] ComposePlan plan_composition(const container::Recipe& recipe, const ComposeHost& host);

}  // namespace fatctx
