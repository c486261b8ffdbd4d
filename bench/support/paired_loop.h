// Times several ways of doing one thing against each other, in turn (A B A B) in one process. A busy
// neighbour, a frequency step or a cold cache thus affects all of them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fatctx::bench {

struct Side {
  std::string name;
  std::function<void()> once;
  std::function<void()> before = {};  // not timed, before each call; a block is then a single call
};

struct Effort {
  int repetitions = 101;     // blocks per side; at least 15 for a published figure
  double block_ms = 0.5;     // a block repeats its side for about this time, at least once: shorter than a time slice
  int most_calls = 100'000;  // per block
};

struct Timing {
  double minimum_us = 0;  // of one call: the quickest block
  double median_us = 0;   // the middle block
  // To the first side. The median is over the repetitions, each of which divides two neighbours in time.
  double ratio_of_minima = 1;
  double median_ratio = 1;
};

// Returns one Timing per side, in their order. Each side runs before it is timed, so everything is warm,
// except for state that `before` resets, such as pages in the cache.
[[nodiscard]] std::vector<Timing> alternate(std::span<const Side> sides, const Effort& effort);

[[nodiscard]] double minimum_of(std::span<const double> values);
[[nodiscard]] double median_of(std::vector<double> values);

}  // namespace fatctx::bench
