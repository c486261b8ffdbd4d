#include "runtime/view/compose_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <vector>

namespace fatctx {
namespace compose_plan_test {

using container::Recipe;
using container::RecipeStep;
using mapping::MixedPiece;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kSourceAt = 0x50000;  // file offset of the one source

struct Piece {
  bool built;
  std::uint64_t offset;
  std::uint64_t size;
  bool operator==(const Piece&) const = default;
};

// Copies {from, size} of the source; if `from` is kFill, the bytes come from no source.
constexpr std::uint64_t kFill = ~std::uint64_t{0};
struct Part {
  std::uint64_t from;
  std::uint64_t size;
};

Recipe recipe_of(const std::vector<Part>& parts) {
  std::vector<RecipeStep> steps;
  std::uint64_t at = 0;
  for (const Part& part : parts) {
    const bool fill = part.from == kFill;
    steps.push_back({fill ? RecipeStep::Kind::kFill : RecipeStep::Kind::kCopy, at, part.size, fill ? 7 : part.from});
    at += part.size;
  }
  const std::vector<ByteRange> sources = {{kSourceAt, std::uint64_t{1} << 30}};
  auto recipe = Recipe::read(container::encode_recipe(steps, {}), at, sources);
  if (!recipe.ok()) throw std::runtime_error(to_text(recipe.error()));
  return std::move(recipe).value();
}

std::vector<Piece> pieces_of(const ComposePlan& plan) {
  std::vector<Piece> pieces;
  for (const MixedPiece& piece : plan.pieces) pieces.push_back({piece.built, piece.offset, piece.size});
  return pieces;
}

constexpr ComposeHost kHost{.page_bytes = kPage, .base = 0, .most_pieces = 4096};

TEST(ComposePlan, MapsWholePagesOfACopyAndBuildsItsEdges) {
  // From byte 100 of a page to byte 200 of another one, with the offsets of the file.
  const auto plan = plan_composition(recipe_of({{kFill, 100}, {100, 10 * kPage + 100}, {kFill, 50}}), kHost);
  EXPECT_EQ(pieces_of(plan),
            (std::vector<Piece>{{true, 0, kPage}, {false, kSourceAt + kPage, 9 * kPage}, {true, kPage, 250}}));
  EXPECT_EQ(plan.built_bytes, 2 * kPage);
}

TEST(ComposePlan, OneByteBesideAPageBuildsAPage) {
  const auto plan = plan_composition(recipe_of({{kFill, 1}, {1, 10 * kPage}}), kHost);
  EXPECT_EQ(pieces_of(plan),
            (std::vector<Piece>{{true, 0, kPage}, {false, kSourceAt + kPage, 9 * kPage}, {true, kPage, 1}}));
  EXPECT_EQ(plan.built_bytes, 2 * kPage);
}

TEST(ComposePlan, BuildsWhatLiesAtAnotherPlaceOfAPage) {
  const auto plan = plan_composition(recipe_of({{256, 20 * kPage}}), kHost);
  EXPECT_EQ(pieces_of(plan), (std::vector<Piece>{{true, 0, 20 * kPage}}));
}

TEST(ComposePlan, BuildsRunsOfLessThanEightPages) {
  EXPECT_EQ(plan_composition(recipe_of({{0, 8 * kPage}}), kHost).built_bytes, 0U);
  EXPECT_EQ(plan_composition(recipe_of({{0, 8 * kPage - 1}}), kHost).built_bytes, 8 * kPage);
}

TEST(ComposePlan, CopiesOfSourcesThatFollowEachOtherAreOneRun) {
  const std::vector<ByteRange> sources = {
      {kSourceAt, 4 * kPage}, {kSourceAt + 4 * kPage, 4 * kPage}, {kSourceAt + 8 * kPage, 2 * kPage}};
  std::vector<RecipeStep> steps;
  for (const ByteRange& source : sources) {
    const std::uint64_t at = source.offset - kSourceAt;
    steps.push_back({RecipeStep::Kind::kCopy, at, source.size, at});
  }
  const Recipe recipe = Recipe::read(container::encode_recipe(steps, {}), 10 * kPage, sources).value();
  EXPECT_EQ(pieces_of(plan_composition(recipe, kHost)), (std::vector<Piece>{{false, kSourceAt, 10 * kPage}}));
}

TEST(ComposePlan, NothingIsMappedWithoutAFile) {
  const auto plan = plan_composition(recipe_of({{0, 8 * kPage}}), {.page_bytes = kPage, .base = {}, .most_pieces = 9});
  EXPECT_EQ(pieces_of(plan), (std::vector<Piece>{{true, 0, 8 * kPage}}));
}

TEST(ComposePlan, WhereTheContainerBeginsInItsFileCounts) {
  const auto recipe = recipe_of({{0, 64 * kPage}});
  ComposeHost host{.page_bytes = 4 * kPage, .base = 4 * kPage, .most_pieces = 9};
  EXPECT_EQ(plan_composition(recipe, host).built_bytes, 0U);
  host.base = kPage;
  EXPECT_EQ(plan_composition(recipe, host).built_bytes, 64 * kPage);
}

TEST(ComposePlan, DropsTheShortestRunsWhenPiecesAreTooMany) {
  // Three runs of 8, 9 and 10 pages with a page between them.
  const auto recipe =
      recipe_of({{0, 9 * kPage}, {kFill, kPage}, {10 * kPage, 8 * kPage}, {kFill, kPage}, {19 * kPage, 10 * kPage}});
  ComposeHost host = kHost;
  EXPECT_EQ(plan_composition(recipe, host).built_bytes, 2 * kPage);
  host.most_pieces = 4;
  EXPECT_EQ(pieces_of(plan_composition(recipe, host)),
            (std::vector<Piece>{
                {false, kSourceAt, 9 * kPage}, {true, 0, 10 * kPage}, {false, kSourceAt + 19 * kPage, 10 * kPage}}));
  host.most_pieces = 2;
  EXPECT_EQ(pieces_of(plan_composition(recipe, host)),
            (std::vector<Piece>{{true, 0, 19 * kPage}, {false, kSourceAt + 19 * kPage, 10 * kPage}}));
  host.most_pieces = 1;
  EXPECT_EQ(pieces_of(plan_composition(recipe, host)), (std::vector<Piece>{{true, 0, 29 * kPage}}));
}

TEST(ComposePlan, OfEquallyLongRunsTheFirstStays) {
  const auto recipe = recipe_of({{0, 8 * kPage}, {kFill, kPage}, {9 * kPage, 8 * kPage}});
  ComposeHost host = kHost;
  host.most_pieces = 2;
  EXPECT_EQ(pieces_of(plan_composition(recipe, host)),
            (std::vector<Piece>{{false, kSourceAt, 8 * kPage}, {true, 0, 9 * kPage}}));
}

TEST(ComposePlan, FewerPiecesAreNeverFewerBytes) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Part> parts;
    std::uint64_t shift = 0;
    for (std::uint64_t at = 0; parts.size() < 60;) {
      const std::uint64_t run = (1 + random() % 20) * kPage;
      shift = 16 * kPage - shift;  // never at the end of the copy before: the two would be one
      parts.push_back({at + shift, run});
      at += run;
      if (random() % 3 == 0) {
        const std::uint64_t gap = (1 + random() % 2) * kPage;
        parts.push_back({kFill, gap});
        at += gap;
      }
    }
    const Recipe recipe = recipe_of(parts);
    const ComposePlan all = plan_composition(recipe, kHost);
    std::uint64_t built = all.built_bytes;
    for (std::uint64_t most = all.pieces.size(); most >= 1; --most) {
      ComposeHost host = kHost;
      host.most_pieces = most;
      const ComposePlan plan = plan_composition(recipe, host);
      std::uint64_t size = 0;
      for (const MixedPiece& piece : plan.pieces) size += piece.size;
      ASSERT_EQ(size, recipe.logical_size()) << "seed " << seed;
      ASSERT_LE(plan.pieces.size(), most) << "seed " << seed;
      ASSERT_GE(plan.built_bytes, built) << "seed " << seed << ": fewer pieces are never fewer bytes";
      built = plan.built_bytes;
    }
  }
}

}  // namespace compose_plan_test
}  // namespace fatctx
