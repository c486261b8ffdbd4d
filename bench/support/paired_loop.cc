#include "support/paired_loop.h"

#include <algorithm>
#include <chrono>

namespace fatctx::bench {
namespace {

// Returns microseconds per call.
double time_block(const Side& side, int calls) {
  if (side.before) side.before();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) side.once();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  return took.count() / calls;
}

int calls_for(const Side& side, const Effort& effort) {
  side.once();
  if (side.before) return 1;
  const double once_us = std::min(time_block(side, 3), time_block(side, 3));
  const double calls = 1000.0 * effort.block_ms / std::max(once_us, 0.001);
  return static_cast<int>(std::clamp(calls, 1.0, static_cast<double>(effort.most_calls)));
}

}  // namespace

double minimum_of(std::span<const double> values) { return *std::min_element(values.begin(), values.end()); }

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<Timing> alternate(std::span<const Side> sides, const Effort& effort) {
  std::vector<int> calls;
  for (const Side& side : sides) calls.push_back(calls_for(side, effort));

  std::vector<std::vector<double>> took(sides.size());
  for (int repetition = 0; repetition < effort.repetitions; ++repetition) {
    for (std::size_t i = 0; i < sides.size(); ++i) took[i].push_back(time_block(sides[i], calls[i]));
  }

  std::vector<Timing> timings;
  for (const std::vector<double>& own : took) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < own.size(); ++i) ratios.push_back(own[i] / took[0][i]);
    timings.push_back({.minimum_us = minimum_of(own),
                       .median_us = median_of(own),
                       .ratio_of_minima = minimum_of(own) / minimum_of(took[0]),
                       .median_ratio = median_of(ratios)});
  }
  return timings;
}

}  // namespace fatctx::bench
