#include "runtime/view/compose_plan.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace fatctx {
namespace {

using container::CongruentRun;
using container::RecipeStep;

constexpr std::uint64_t kLeastPages = 8;  // a map of its own costs more than a copy of a shorter run

// Merges copies into one run if they continue each other in the record and in the file.
std::vector<CongruentRun> mappable_runs(const container::Recipe& recipe, std::uint64_t page, std::uint64_t base) {
  std::vector<CongruentRun> runs;
  CongruentRun copied;
  const auto take = [&] {
    const std::uint64_t first = (copied.target + page - 1) / page * page;
    const std::uint64_t end = (copied.target + copied.size) / page * page;
    if ((base + copied.file_offset - copied.target) % page != 0) return;
    if (end < first + kLeastPages * page) return;
    runs.push_back({first, copied.file_offset + (first - copied.target), end - first});
  };
  for (const RecipeStep& step : recipe.steps()) {
    if (step.kind == RecipeStep::Kind::kCopy && copied.size != 0 && copied.target + copied.size == step.target &&
        copied.file_offset + copied.size == step.source) {
      copied.size += step.size;
      continue;
    }
    take();
    copied = step.kind == RecipeStep::Kind::kCopy ? CongruentRun{step.target, step.source, step.size} : CongruentRun{};
  }
  take();
  return runs;
}

ComposePlan plan_with(std::span<const CongruentRun> runs, std::uint64_t size, std::uint64_t page) {
  ComposePlan plan;
  std::uint64_t at = 0;
  const auto build_to = [&](std::uint64_t end) {
    if (end == at) return;
    plan.pieces.push_back({.built = true, .offset = plan.built_bytes, .size = end - at});
    plan.built_bytes += (end - at + page - 1) / page * page;
    at = end;
  };
  for (const CongruentRun& run : runs) {
    build_to(run.target);
    plan.pieces.push_back({.built = false, .offset = run.file_offset, .size = run.size});
    at += run.size;
  }
  build_to(size);
  return plan;
}

// Returns the `count` longest runs, in their order; of equally long runs the first.
std::vector<CongruentRun> longest(std::span<const CongruentRun> runs, std::size_t count) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return runs[a].size > runs[b].size; });
  order.resize(count);
  std::sort(order.begin(), order.end());
  std::vector<CongruentRun> kept;
  kept.reserve(count);
  for (const std::size_t index : order) kept.push_back(runs[index]);
  return kept;
}

}  // namespace

ComposePlan plan_composition(const container::Recipe& recipe, const ComposeHost& host) {
  std::vector<CongruentRun> runs;
  if (host.base) runs = mappable_runs(recipe, host.page_bytes, *host.base);
  ComposePlan plan = plan_with(runs, recipe.logical_size(), host.page_bytes);
  // Removing a run never adds a piece, so bisection finds the largest number of runs that fits.
  for (std::size_t fits = 0, too_many = runs.size(); plan.pieces.size() > host.most_pieces;) {
    const std::size_t middle = fits + (too_many - fits) / 2;
    ComposePlan fewer = plan_with(longest(runs, middle), recipe.logical_size(), host.page_bytes);
    if (fewer.pieces.size() > host.most_pieces) {
      too_many = middle;
    } else if (too_many - middle > 1) {
      fits = middle;
    } else {
      plan = std::move(fewer);
    }
  }
  return plan;
}

}  // namespace fatctx
