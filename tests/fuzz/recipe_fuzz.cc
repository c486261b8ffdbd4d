// Arbitrary bytes as the program of a recipe: it is refused, or its steps produce exactly the record, read nothing but
// the sources, and are the only way to write them.
//
// Input: 4 bytes for the size of the record; 1 byte for the number of sources; 3 bytes for the size of each; the rest
// is the program.
#include <algorithm>
#include <string>
#include <vector>

#include "container/read/recipe.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"

namespace {

using namespace fatctx;
using container::Recipe;
using container::RecipeStep;

constexpr std::uint64_t kMade = std::uint64_t{1} << 16;  // of a record, this much is composed

std::byte byte_at(std::uint64_t file_offset) { return static_cast<std::byte>(file_offset * 131 >> 3); }

void require_in_sources(const RecipeStep& step, const std::vector<ByteRange>& sources) {
  const bool inside = std::any_of(sources.begin(), sources.end(), [&](const ByteRange& source) {
    return step.source >= source.offset && within({step.source - source.offset, step.size}, source.size);
  });
  fuzz::require(inside, "a copy lies in one source", std::to_string(step.source));
}

// Returns the program that encodes these steps.
std::vector<std::byte> written_again(const Recipe& recipe, const std::vector<ByteRange>& sources) {
  std::vector<RecipeStep> steps(recipe.steps().begin(), recipe.steps().end());
  for (RecipeStep& step : steps) {
    if (step.kind != RecipeStep::Kind::kCopy) continue;
    std::uint64_t start = 0;
    for (const ByteRange& source : sources) {
      if (step.source >= source.offset && step.source - source.offset < source.size) {
        step.source = start + (step.source - source.offset);
        break;
      }
      start += source.size;
    }
  }
  return container::encode_recipe(steps, recipe.literals());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint64_t logical_size = input.number(4);
  std::vector<ByteRange> sources(input.byte() % 8);
  std::uint64_t at = 0x20000;
  for (ByteRange& source : sources) {
    source = {at, input.number(3) + 1};
    at += (source.size + 0xffff) / 0x10000 * 0x10000;
  }
  const ByteView program = input.rest();

  const auto recipe = Recipe::read({program.begin(), program.end()}, logical_size, sources);

  if (!recipe.ok()) {
    fuzz::require_good(recipe.error());
    return 0;
  }
  std::uint64_t target = 0;
  for (const RecipeStep& step : recipe.value().steps()) {
    fuzz::require(step.target == target && step.size != 0, "steps follow each other", std::to_string(step.target));
    target += step.size;
    if (step.kind == RecipeStep::Kind::kCopy) require_in_sources(step, sources);
  }
  fuzz::require(target == logical_size, "the steps make the record", std::to_string(target));
  fuzz::require(std::ranges::equal(written_again(recipe.value(), sources), program), "a program has one form");
  const auto file = [](std::uint64_t offset, std::span<std::byte> out) -> Status {
    for (std::byte& byte : out) byte = byte_at(offset++);
    return Done{};
  };
  std::vector<std::byte> whole(static_cast<std::size_t>(std::min(kMade, logical_size)));
  fuzz::require(recipe.value().apply({0, whole.size()}, file, whole).ok(), "the front of the record can be made");
  std::vector<std::byte> half(whole.size() / 2);
  fuzz::require(recipe.value().apply({whole.size() - half.size(), half.size()}, file, half).ok(), "and a part of it");
  fuzz::require(std::equal(half.rbegin(), half.rend(), whole.rbegin()), "parts are those of the whole");
  std::uint64_t end = 0;
  for (const container::CongruentRun& run : recipe.value().congruent_runs(4096, 1)) {
    fuzz::require(run.target >= end && run.target % 4096 == 0 && run.file_offset % 4096 == 0 && run.size % 4096 == 0 &&
                      run.size != 0,
                  "runs are whole pages", std::to_string(run.target));
    end = run.target + run.size;
    fuzz::require(end <= logical_size, "runs lie in the record", std::to_string(end));
    if (run.target < whole.size()) {
      fuzz::require(whole[static_cast<std::size_t>(run.target)] == byte_at(run.file_offset), "a run is what is made");
    }
  }
  return 0;
}
