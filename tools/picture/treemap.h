// Places the rectangles of a treemap: areas that stand for sizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fatctx::tools {

struct Rectangle {
  double x0 = 0;
  double y0 = 0;
  double x1 = 0;
  double y1 = 0;

  [[nodiscard]] double width() const { return x1 - x0; }
  [[nodiscard]] double height() const { return y1 - y0; }
};

// Divides `area` among `sizes`, in their order: a squarified treemap (Bruls, Huizing and van Wijk, 2000), whose
// rectangles come as near to the golden ratio as the order allows. Requires: sizes above 0, largest first.
[[nodiscard]] std::vector<Rectangle> squarified(const Rectangle& area, std::span<const std::uint64_t> sizes);

struct TreemapStyle {
  double gap = 0;   // between neighbours
  double head = 0;  // of a group, above its tiles
};

struct PlacedGroup {
  Rectangle place;  // with its head
  std::vector<Rectangle> tiles;
};

// Divides `width` x `height` among groups, and each group among its tiles, on whole numbers. `groups` has the sizes of
// the tiles. Requires: as squarified(), and no group without a tile, the largest group first.
[[nodiscard]] std::vector<PlacedGroup> treemap_of_groups(double width, double height,
                                                         std::span<const std::vector<std::uint64_t>> groups,
                                                         const TreemapStyle& style);

}  // namespace fatctx::tools
