#include "runtime/inspect/thin_plan.h"

#include <gtest/gtest.h>

namespace fatctx {
namespace thin_plan_test {

constexpr std::uint64_t kPage = 4096;

ThinPart fresh(std::uint64_t target, std::uint64_t size) { return {.target = target, .size = size}; }
ThinPart payload(std::uint64_t target, std::uint64_t size) {
  return {.target = target, .size = size, .entry = 0, .fresh = false};
}

TEST(ThinPlan, MapsWholePagesAndBuildsWhatIsBetween) {
  const std::vector<ThinPart> parts = {fresh(0, kPage), payload(kPage, 3 * kPage + 10), fresh(4 * kPage + 10, 50)};
  const ThinPlan plan = plan_thin(parts, {{kPage, 64 * kPage, 3 * kPage + 10}}, kPage, 0, 100);

  ASSERT_EQ(plan.pieces.size(), 3U);
  EXPECT_TRUE(plan.pieces[0].built);
  EXPECT_FALSE(plan.pieces[1].built);
  EXPECT_EQ(plan.pieces[1].offset, 64 * kPage);
  EXPECT_EQ(plan.pieces[1].size, 3 * kPage);
  EXPECT_TRUE(plan.pieces[2].built);
  EXPECT_EQ(plan.pieces[2].offset, kPage);
  EXPECT_EQ(plan.pieces[2].size, 60U);
  EXPECT_EQ(plan.new_bytes, kPage + 60);
  EXPECT_EQ(plan.copied_bytes, 0U);
}

TEST(ThinPlan, PayloadThatLiesOtherwiseInAPageIsCopied) {
  const std::vector<ThinPart> parts = {fresh(0, 100), payload(100, 10 * kPage), fresh(100 + 10 * kPage, 20)};
  const ThinPlan plan = plan_thin(parts, {{100, 64 * kPage, 10 * kPage}}, kPage, 0, 100);

  ASSERT_EQ(plan.pieces.size(), 1U);
  EXPECT_EQ(plan.new_bytes, kPage + 120);  // the first page, and the last incomplete one
  EXPECT_EQ(plan.copied_bytes, 9 * kPage);
}

TEST(ThinPlan, WhereTheContainerBeginsInItsFileCounts) {
  const std::vector<ThinPart> parts = {payload(0, 16 * kPage)};
  EXPECT_EQ(plan_thin(parts, {{0, 4 * kPage, 16 * kPage}}, 4 * kPage, 0, 100).copied_bytes, 0U);
  EXPECT_EQ(plan_thin(parts, {{0, 4 * kPage, 16 * kPage}}, 4 * kPage, kPage, 100).copied_bytes, 16 * kPage);
  EXPECT_EQ(plan_thin(parts, {{0, 4 * kPage, 16 * kPage}}, 4 * kPage, std::nullopt, 100).copied_bytes, 16 * kPage);
}

TEST(ThinPlan, ShortRunsAreBuiltWhereThereAreTooMany) {
  std::vector<ThinPart> parts;
  std::vector<ThinRun> runs;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::uint64_t size = (i % 4 == 0 ? 8 : 1) * kPage;
    parts.push_back(payload(at, size));
    runs.push_back({at, (1000 + 2 * at / kPage) * kPage, size});
    at += size;
    parts.push_back(fresh(at, kPage));
    at += kPage;
  }
  const ThinPlan plan = plan_thin(parts, runs, kPage, 0, 20);
  EXPECT_LE(plan.pieces.size(), 21U);
  EXPECT_EQ(plan.copied_bytes, 30 * kPage);
  EXPECT_EQ(plan.new_bytes, 40 * kPage);
  std::uint64_t sum = 0;
  for (const auto& piece : plan.pieces) sum += piece.size;
  EXPECT_EQ(sum, at);
}

}  // namespace thin_plan_test
}  // namespace fatctx
