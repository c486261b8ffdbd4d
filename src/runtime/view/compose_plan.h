// Which bytes of a record a view maps from the file, and which it has to build. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "container/read/recipe.h"
#include "mapping/stitched_region.h"

namespace fatctx {

struct ComposeHost {
  std::uint64_t page_bytes = 0;
  // Where the container begins in the file that is mapped; empty if nothing of it can be mapped.
  std::optional<std::uint64_t> base = {};
  std::uint64_t most_pieces = 0;
};

// One behind the other, without gap; each but the last ends at a page.
struct ComposePlan {
  std::vector<mapping::MixedPiece> pieces;
  std::uint64_t built_bytes = 0;  // in whole pages
};

// Maps runs of at least 8 pages. While the pieces are too many, the shortest runs are built instead. Requires: pages
// are a power of two, and most_pieces is not 0.
[[nodiscard]] ComposePlan plan_composition(const container::Recipe& recipe, const ComposeHost& host);

}  // namespace fatctx
