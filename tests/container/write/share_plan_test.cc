// The search for shared bytes at the limit of the slice table. Equal records repeat the slices of the one that stores
// them, so that a plan with many of them reaches the limit; only the first of them has bytes here.
#include "container/write/share_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "container/write/append_runs.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace share_plan_test {

using support::Bytes;
using support::is_ok;

void append_to(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

// Adds a record, and `copies` records that are equal to it. Returns its index.
std::size_t add(Plan& plan, Bytes bytes, std::size_t copies = 0, std::vector<sharing::KnownPart> parts = {}) {
  const std::size_t index = plan.records.size();
  PlannedRecord planned;
  planned.record = support::plain_record(RecordType::kOpaque, "r" + std::to_string(index), std::move(bytes));
  planned.input = Input::take(planned.record.source, nullptr).value();
  planned.stored_size = planned.input.size();
  planned.stored_as = index;
  planned.parts = std::move(parts);
  plan.records.push_back(std::move(planned));
  plan.records.reserve(index + 1 + copies);
  for (std::size_t i = 0; i < copies; ++i) plan.records.emplace_back().stored_as = index;
  return index;
}

void find_shared(Plan& plan, Sharing sharing) {
  PackOptions options;
  options.sharing = sharing;
  options.threads = 1;
  const Progress none;
  WorkProgress progress(none);
  ASSERT_TRUE(is_ok(find_shared_bytes(plan, options, progress)));
}

std::uint64_t rows_of(const Plan& plan) {
  std::uint64_t rows = 0;
  for (const PlannedRecord& planned : plan.records) {
    const PlannedRecord& stored = plan.records[planned.stored_as];
    rows += stored.recipe ? 1 + stored.recipe->sources.size() : std::max<std::size_t>(stored.slices.size(), 1);
  }
  return rows;
}

// 32 runs of eight pages, each behind a page that only this record has.
Bytes runs_between_own_pages(std::uint32_t seed) {
  Bytes bytes;
  for (std::uint32_t i = 0; i < 32; ++i) {
    append_to(bytes, support::pattern(4'096, seed + i));
    append_to(bytes, support::pattern(8 * 4'096, 10 + i));
  }
  return bytes;
}

// Two records of which each has 4,000 rows: one is stored whole, the other one in 64 pieces.
TEST(SharePlan, PiecesFitIntoTheRowsThatOtherRecordsLeave) {
  constexpr std::uint64_t kRows = 4'000;
  constexpr std::uint64_t kFree = kMaxSlices - 65 * kRows;
  for (const auto& [others, rows] : {std::pair{kFree, kMaxSlices}, {kFree + 1, 2 * kRows + kFree + 1}}) {
    Plan plan;
    add(plan, runs_between_own_pages(100), kRows - 1);
    add(plan, runs_between_own_pages(200), kRows - 1);
    add(plan, support::pattern(50, 1), others - 1);
    find_shared(plan, Sharing::kPages);
    EXPECT_EQ(rows_of(plan), rows) << others;
  }
}

constexpr std::size_t kOwn = 66'001;
constexpr std::size_t kPart = 2'000;
constexpr std::uint32_t kBases = 20;

Bytes base_with(std::uint32_t i) {
  Bytes bytes = support::pattern(kPart, 10 + i);
  append_to(bytes, support::pattern(110'000 + 1'000 * i, 50 + i));
  return bytes;
}

// A record that has the first bytes of each base behind its own.
Bytes with_parts_of_all() {
  Bytes bytes = support::pattern(kOwn, 90);
  for (std::uint32_t i = 0; i < kBases; ++i) append_to(bytes, support::pattern(kPart, 10 + i));
  return bytes;
}

// Each of 13,000 equal recipes may have 19 sources, or only 18 if other records take a row more than 20 of each leave.
// One source is what it stores itself.
void expect_sources_within_rows(bool by_parts) {
  constexpr std::size_t kRows = 13'000;
  constexpr std::size_t kFree = kMaxSlices - 20 * (kRows + kBases);
  for (const auto& [others, sources] : {std::pair{kFree, 19U}, {kFree + 1, 18U}}) {
    Plan plan;
    std::vector<sharing::KnownPart> parts;
    for (std::uint32_t i = 0; i < kBases; ++i) {
      std::vector<sharing::KnownPart> part = {{{0, kPart}}};
      parts.push_back({{kOwn + i * kPart, kPart}});
      if (!by_parts) part.clear();
      add(plan, base_with(i), 0, std::move(part));
    }
    if (!by_parts) parts.clear();
    const std::size_t recipe = add(plan, with_parts_of_all(), kRows - 1, std::move(parts));
    add(plan, support::pattern(50, 1), others - 1);
    find_shared(plan, Sharing::kBytes);
    ASSERT_TRUE(plan.records[recipe].recipe) << others;
    EXPECT_EQ(plan.records[recipe].recipe->sources.size(), sources) << others;
    EXPECT_LE(rows_of(plan), kMaxSlices) << others;
  }
}

TEST(SharePlan, SourcesOfRunsFitIntoTheRowsThatOtherRecordsLeave) { expect_sources_within_rows(false); }

TEST(SharePlan, SourcesOfPartsFitIntoTheRowsThatOtherRecordsLeave) { expect_sources_within_rows(true); }

// An append has the rows that the file has left. Three equal records share them.
TEST(SharePlan, SourcesInAFileFitIntoTheRowsThatItHasLeft) {
  Bytes stored;
  std::vector<PresentSegment> segments;
  for (std::uint32_t i = 0; i < 5; ++i) {
    const Bytes base = base_with(i);
    segments.push_back({i, {stored.size(), base.size()}});
    append_to(stored, base);
  }
  const support::MemoryFile file(std::move(stored));
  for (const auto& [left, in_file] :
       {std::pair{3U, 0U}, {6U, 0U}, {8U, 0U}, {9U, 1U}, {11U, 1U}, {12U, 2U}, {15U, 3U}}) {
    Plan plan;
    add(plan, support::pattern(50, 1));
    const std::size_t index = add(plan, with_parts_of_all(), 2);
    const Progress none;
    WorkProgress progress(none);
    ASSERT_TRUE(is_ok(find_runs_in_file(plan, file, segments, left, {}, progress)));
    const std::optional<PlannedRecipe>& recipe = plan.records[index].recipe;
    EXPECT_EQ(recipe ? recipe->present_sources.size() : 0U, in_file) << left;
    if (recipe) {
      EXPECT_EQ(recipe->sources, std::vector<std::size_t>{index}) << left;
    }
  }
}

}  // namespace share_plan_test
}  // namespace fatctx::container
