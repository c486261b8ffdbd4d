#include "tools/picture/treemap.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace fatctx::tools {

namespace {

const double kGoldenRatio = (1 + std::sqrt(5.0)) / 2;

double sum_of(std::span<const std::uint64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 0.0,
                         [](double sum, std::uint64_t size) { return sum + static_cast<double>(size); });
}

// Returns how far the shape of the worst rectangle is from the golden ratio, if `row` fills a strip of `area` along
// its shorter side; 1 is the best.
double worst_shape(const Rectangle& area, std::span<const std::uint64_t> row, double all) {
  const double longer = std::max(area.width(), area.height());
  const double shorter = std::min(area.width(), area.height());
  const double sum = sum_of(row);
  // A rectangle of size s is s * shorter / sum long, and the strip is longer * sum / all thick.
  const double strip = sum * sum * longer / (shorter * all * kGoldenRatio);
  const auto largest = static_cast<double>(row.front());
  const auto smallest = static_cast<double>(row.back());
  return std::max(largest / strip, strip / smallest);
}

// Returns how many of `sizes` the next strip takes: as long as no rectangle gets a worse shape.
std::size_t strip_length(const Rectangle& area, std::span<const std::uint64_t> sizes, double all) {
  std::size_t count = 1;
  double worst = worst_shape(area, sizes.first(1), all);
  while (count < sizes.size()) {
    const double next = worst_shape(area, sizes.first(count + 1), all);
    if (next > worst) break;
    worst = next;
    ++count;
  }
  return count;
}

void place_strip(const Rectangle& strip, bool across, std::span<const std::uint64_t> row,
                 std::vector<Rectangle>& placed) {
  const double scale = (across ? strip.width() : strip.height()) / sum_of(row);
  double at = across ? strip.x0 : strip.y0;
  for (const std::uint64_t size : row) {
    const double end = at + static_cast<double>(size) * scale;
    placed.push_back(across ? Rectangle{at, strip.y0, end, strip.y1} : Rectangle{strip.x0, at, strip.x1, end});
    at = end;
  }
}

// Moves each side inwards. Sides that would pass each other meet in the middle.
Rectangle inset(const Rectangle& area, double left, double top, double right, double bottom) {
  Rectangle inner{area.x0 + left, area.y0 + top, area.x1 - right, area.y1 - bottom};
  if (inner.x1 < inner.x0) inner.x0 = inner.x1 = (inner.x0 + inner.x1) / 2;
  if (inner.y1 < inner.y0) inner.y0 = inner.y1 = (inner.y0 + inner.y1) / 2;
  return inner;
}

Rectangle on_whole_numbers(const Rectangle& area) {
  const auto nearest = [](double value) { return std::floor(value + 0.5); };
  return {nearest(area.x0), nearest(area.y0), nearest(area.x1), nearest(area.y1)};
}

}  // namespace

std::vector<Rectangle> squarified(const Rectangle& area, std::span<const std::uint64_t> sizes) {
  std::vector<Rectangle> placed;
  placed.reserve(sizes.size());
  Rectangle rest = area;
  double all = sum_of(sizes);
  while (!sizes.empty()) {
    if (!(rest.width() > 0 && rest.height() > 0)) {  // no room: the rest has places without an area
      placed.insert(placed.end(), sizes.size(), rest);
      break;
    }
    const std::size_t count = strip_length(rest, sizes, all);
    const auto row = sizes.first(count);
    const double sum = sum_of(row);
    const bool across = rest.width() < rest.height();
    Rectangle strip = rest;
    if (across) {
      strip.y1 = rest.y0 = rest.y0 + rest.height() * sum / all;
    } else {
      strip.x1 = rest.x0 = rest.x0 + rest.width() * sum / all;
    }
    place_strip(strip, across, row, placed);
    all -= sum;
    sizes = sizes.subspan(count);
  }
  return placed;
}

std::vector<PlacedGroup> treemap_of_groups(double width, double height,
                                           std::span<const std::vector<std::uint64_t>> groups,
                                           const TreemapStyle& style) {
  std::vector<std::uint64_t> sums;
  for (const std::vector<std::uint64_t>& group : groups) {
    sums.push_back(std::accumulate(group.begin(), group.end(), std::uint64_t{0}));
  }
  // Each rectangle keeps half a gap on every side. The outermost have it outside of the picture.
  const double half = style.gap / 2;
  const std::vector<Rectangle> places = squarified(inset({0, 0, width, height}, -half, -half, -half, -half), sums);
  std::vector<PlacedGroup> placed;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Rectangle place = inset(places[i], half, half, half, half);
    PlacedGroup group{.place = on_whole_numbers(place), .tiles = {}};
    for (const Rectangle& tile : squarified(inset(place, -half, style.head - half, -half, -half), groups[i])) {
      group.tiles.push_back(on_whole_numbers(inset(tile, half, half, half, half)));
    }
    placed.push_back(std::move(group));
  }
  return placed;
}

}  // namespace fatctx::tools
