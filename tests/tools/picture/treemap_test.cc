#include "tools/picture/treemap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace fatctx::tools {
namespace treemap_test {

double area(const Rectangle& place) { return place.width() * place.height(); }

bool overlap(const Rectangle& a, const Rectangle& b) {
  constexpr double kNothing = 1e-6;
  return std::min(a.x1, b.x1) - std::max(a.x0, b.x0) > kNothing &&
         std::min(a.y1, b.y1) - std::max(a.y0, b.y0) > kNothing;
}

std::vector<std::uint64_t> drawn_sizes(std::mt19937& random, std::size_t count) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < count; ++i) sizes.push_back(1 + (std::uint64_t{1} << random() % 20) + random() % 1000);
  std::sort(sizes.rbegin(), sizes.rend());
  return sizes;
}

TEST(Treemap, AreasStandForSizesAndFillTheWholeWithoutOverlap) {
  std::mt19937 random(28);
  const Rectangle whole{3, 5, 903, 405};
  for (std::size_t count = 1; count <= 60; ++count) {
    const auto sizes = drawn_sizes(random, count);
    double all = 0;
    for (const std::uint64_t size : sizes) all += static_cast<double>(size);
    const auto placed = squarified(whole, sizes);
    ASSERT_EQ(placed.size(), sizes.size());
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_NEAR(area(placed[i]), area(whole) * static_cast<double>(sizes[i]) / all, 1e-3);
      EXPECT_GE(placed[i].x0, whole.x0 - 1e-6);
      EXPECT_LE(placed[i].y1, whole.y1 + 1e-6);
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_FALSE(overlap(placed[i], placed[j])) << count << ": " << i << ", " << j;
    }
  }
}

TEST(Treemap, EqualSizesAreNoStripes) {
  const auto placed = squarified({0, 0, 600, 400}, std::vector<std::uint64_t>(24, 7));
  for (const Rectangle& place : placed) {
    const double longer = std::max(place.width(), place.height());
    EXPECT_LT(longer / std::min(place.width(), place.height()), 3);
  }
}

TEST(Treemap, GroupsHaveARoomForTheirHeadAndGapsBetweenTiles) {
  const std::vector<std::vector<std::uint64_t>> groups = {{500, 300, 200}, {400, 100}};
  const auto placed = treemap_of_groups(1000, 500, groups, {.gap = 2, .head = 20});
  ASSERT_EQ(placed.size(), 2U);
  for (const PlacedGroup& group : placed) {
    for (const Rectangle& tile : group.tiles) {
      EXPECT_GE(tile.y0, group.place.y0 + 20);
      EXPECT_GE(tile.x0, group.place.x0);
      EXPECT_LE(tile.x1, group.place.x1);
      EXPECT_EQ(tile.x0, std::floor(tile.x0));
    }
    for (std::size_t i = 1; i < group.tiles.size(); ++i) {
      const Rectangle& a = group.tiles[i - 1];
      const Rectangle& b = group.tiles[i];
      EXPECT_TRUE(b.x0 - a.x1 >= 1 || b.y0 - a.y1 >= 1 || a.x0 - b.x1 >= 1 || a.y0 - b.y1 >= 1);
    }
  }
}

TEST(Treemap, APlaceWithoutAreaAndAMillionToOneAreNoErrors) {
  const std::vector<std::uint64_t> sizes = {std::uint64_t{1} << 62, 1, 1, 1};
  EXPECT_EQ(squarified({0, 0, 100, 100}, sizes).size(), 4U);
  EXPECT_EQ(squarified({0, 0, 0, 100}, sizes).size(), 4U);
  for (const PlacedGroup& group : treemap_of_groups(30, 10, std::vector{sizes, sizes}, {.gap = 2, .head = 20})) {
    for (const Rectangle& tile : group.tiles) {
      EXPECT_TRUE(std::isfinite(tile.x0) && std::isfinite(tile.y1));
      EXPECT_GE(tile.width(), 0);
      EXPECT_GE(tile.height(), 0);
    }
  }
}

}  // namespace treemap_test
}  // namespace fatctx::tools
