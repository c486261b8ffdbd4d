// The work that a small file can request, and its limit: a call's composed bytes are counted, not its seconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "container/read/checked_bytes.h"
#include "container/read/opened_file.h"
#include "container/read/recipe_record.h"
#include "container/read/work_budget.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "support/costly_file.h"
#include "support/peak_memory.h"
#include "support/result_matchers.h"
#include "support/sanitized.h"
#include "support/sliced_container.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace cost_test {

using support::is_ok;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
constexpr std::uint64_t kLargestRecord = std::uint64_t{1} << 47;

// Checks that a refusal tells the needed amount, the permitted amount, the limit, and the remedy.
template <typename T>
[[nodiscard]] ::testing::AssertionResult is_too_costly(const Result<T>& result) {
  if (result.ok()) return ::testing::AssertionFailure() << "it was allowed";
  const Error& error = result.error();
  if (!is_over_budget(error)) return ::testing::AssertionFailure() << to_text(error);
  for (const char* word : {"record ", "max_made_bytes", "--max-made-bytes", "at most"}) {
    if (error.message.find(word) != std::string::npos) continue;
    return ::testing::AssertionFailure() << "no \"" << word << "\" in: " << to_text(error);
  }
  return ::testing::AssertionSuccess();
}

Result<VerifyReport> check(const Opened& opened, std::uint64_t max_made_bytes = 0, std::uint32_t threads = 1) {
  return verify_container(opened.file, {.threads = threads}, 0, {}, max_made_bytes);
}

const RecordInfo& last_record(const Opened& opened) { return opened.toc.toc.records.back(); }

Status stream(const Opened& opened, std::uint64_t& made, std::uint64_t max_made_bytes = 0) {
  const WorkBudget budget(opened.toc.toc, max_made_bytes);
  return stream_logical(opened.file, opened.toc.toc, last_record(opened), budget, [&](ByteView piece) -> Status {
    made += piece.size();
    return Done{};
  });
}

TEST(WorkBudget, AllowsAGibibyteOrAHundredTimesWhatIsStored) {
  const Opened opened(support::unsealed_sample());
  Toc large;
  large.stored_bytes = std::uint64_t{1} << 40;

  EXPECT_EQ(WorkBudget(opened.toc.toc).max_made_bytes(), kGibibyte);
  EXPECT_EQ(WorkBudget(large).max_made_bytes(), (std::uint64_t{1} << 40) * 100);
  EXPECT_EQ(WorkBudget(large, 7).max_made_bytes(), 7u);
}

TEST(WorkBudget, CountsWhatAllItsCopiesMake) {
  const WorkBudget budget(Toc{}, 100);
  const WorkBudget copy = budget;

  EXPECT_TRUE(is_ok(budget.make(60)));
  EXPECT_TRUE(is_ok(copy.make(40)));
  const auto refused = copy.make(1);

  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(is_over_budget(refused.error()));
  EXPECT_NE(refused.error().message.find("of at least 101"), std::string::npos) << refused.error().message;
  EXPECT_EQ(budget.made_bytes(), 100u) << "what was refused was not made";
  EXPECT_FALSE(budget.make(UINT64_MAX).ok()) << "the sum must not wrap";
}

TEST(WorkBudget, HoldsProgramsAndTablesEachWithinAPartOfIt) {
  const WorkBudget budget(Toc{}, 32 * 100);
  auto held = budget.hold_program(60);
  ASSERT_TRUE(is_ok(held));

  EXPECT_FALSE(budget.hold_program(41).ok());
  EXPECT_TRUE(is_ok(budget.hold_table(100))) << "tables have memory of their own";
  EXPECT_FALSE(budget.hold_table(101).ok());
  held.value().release();

  EXPECT_TRUE(is_ok(budget.hold_program(100)));
  EXPECT_EQ(budget.peak_held_bytes(), 160u);
}

TEST(WorkBudget, GivesEachThreadItsShareOfTheMemory) {
  const WorkBudget budget(Toc{}, 32 * 100);
  const WorkBudget share = budget.share_of(4);

  const auto held = share.hold_program(25);

  EXPECT_TRUE(is_ok(held));
  EXPECT_FALSE(share.hold_program(26).ok());
  EXPECT_TRUE(is_ok(budget.hold_program(75))) << "what a thread holds is counted once";
  EXPECT_TRUE(is_ok(share.make(3200)));
  EXPECT_FALSE(budget.make(1).ok()) << "what it makes is counted for all";
}

TEST(CostOfAFile, AFillOf128TebibytesIsRefusedBeforeAByteOfItIsMade) {
  const Opened opened(support::file_of_fills(kLargestRecord, 1, false));
  const std::uint64_t before = opened.file.bytes_read();
  std::uint64_t made = 0;

  EXPECT_TRUE(is_too_costly(check(opened)));
  EXPECT_TRUE(is_too_costly(
      verify_record(opened.file, opened.toc.header, opened.toc.toc, last_record(opened), VerifyOptions{})));
  const auto streamed = stream(opened, made);

  ASSERT_FALSE(streamed.ok());
  EXPECT_TRUE(is_over_budget(streamed.error())) << to_text(streamed.error());
  EXPECT_EQ(made, 0u);
  EXPECT_LT(opened.file.bytes_read() - before, 8 * opened.file.size());
}

TEST(CostOfAFile, AThousandRecordsOfOneProgramAreCountedTogether) {
  const Opened opened(support::file_of_fills(4 * kMebibyte, 1000, true));

  EXPECT_TRUE(is_too_costly(check(opened)));
  EXPECT_TRUE(is_too_costly(check(opened, 0, 8))) << "whatever the threads are";
  std::uint64_t made = 0;
  EXPECT_TRUE(is_ok(stream(opened, made))) << "one of them alone costs little";
  EXPECT_EQ(made, 4 * kMebibyte);
}

TEST(CostOfAFile, AnHonestFillOfHundredsOfMebibytesIsWhole) {
  const Opened opened(support::file_of_fills(512 * kMebibyte, 1, true));

  const auto report = check(opened);

  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(report.value().findings.empty());
}

TEST(CostOfAFile, TheCallerCanAllowMoreAndLess) {
  const Opened opened(support::file_of_fills(1100 * kMebibyte, 1, true));

  EXPECT_TRUE(is_too_costly(check(opened)));
  const auto allowed = check(opened, 2 * kGibibyte);
  ASSERT_TRUE(is_ok(allowed));
  EXPECT_TRUE(allowed.value().findings.empty());
  EXPECT_TRUE(is_too_costly(check(opened, 1000 * kMebibyte)));
}

TEST(CostOfAFile, SlicesThatNameTheSameBytesAgainCountAgain) {
  constexpr std::uint64_t kStored = 20 * support::kGranule;
  support::SlicedContainer made({support::pattern(kStored, 1)});
  made.add(support::sliced("twice", {{{0, kStored}}, {{0, kStored}}}));
  const Opened opened(made.bytes());
  const auto check_one = [&](std::uint64_t max_made_bytes) {
    return verify_record(opened.file, opened.toc.header, opened.toc.toc, opened.record("twice"), VerifyOptions{},
                         max_made_bytes);
  };

  EXPECT_TRUE(is_too_costly(check(opened, 2 * kStored - 1)));
  EXPECT_TRUE(is_too_costly(check_one(2 * kStored - 1)));
  EXPECT_TRUE(is_ok(check_one(2 * kStored)));
}

TEST(CostOfAFile, TablesAndDescriptionsAreCountedBeforeTheyAreRead) {
  constexpr std::uint64_t kLimit = kMebibyte;
  const Opened opened(support::unsealed_sample());
  for (const auto& kind : {std::pair(RecordType::kTensorTable, kTableWork),
                           {RecordType::kTensorTable, 3},
                           {RecordType::kDescription, 1}}) {
    const auto& records = opened.toc.toc.records;
    const auto record =
        std::find_if(records.begin(), records.end(), [&](const auto& one) { return one.type == kind.first; });
    const std::uint64_t needed = record->size_bytes * kind.second;
    const auto read_with = [&](std::uint64_t left) {
      const WorkBudget budget(opened.toc.toc, kLimit);
      EXPECT_TRUE(is_ok(budget.make(kLimit - left)));
      return read_metadata_record(opened.file, opened.toc.toc, *record, budget);
    };
    EXPECT_TRUE(is_too_costly(read_with(needed - 1)));
    EXPECT_EQ(read_with(needed).ok(), kind.second != 3) << "all of it, but not a part";
  }
}

TEST(CostOfAFile, ProgramsOnEightThreadsTakeTheMemoryOfOneBudget) {
  const Opened opened(support::file_of_programs(600'000, 12));
  ASSERT_LT(opened.file.size(), kMebibyte);
  const support::PeakMemory memory;

  const auto report = check(opened, 0, 8);

  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(report.value().findings.empty());
  if (support::kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  EXPECT_LT(memory.grown_bytes(), 64 * kMebibyte);
}

TEST(CostOfAFile, AProgramThatTakesMoreMemoryThanIsAllowedIsRefusedBeforeItIsTaken) {
  const Opened opened(support::file_of_programs(1'500'000, 1));
  const support::PeakMemory memory;

  const auto refused = read_recipe(opened.file, opened.toc.toc, last_record(opened), WorkBudget(opened.toc.toc));

  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(is_over_budget(refused.error())) << to_text(refused.error());
  EXPECT_TRUE(
      is_ok(read_recipe(opened.file, opened.toc.toc, last_record(opened), WorkBudget(opened.toc.toc, 4 * kGibibyte))));
}

TEST(CostOfAFile, TablesOfTensorsTakeNoMemoryThatTheBudgetDoesNotAllow) {
  const Opened opened(support::file_of_tables(200 * kMebibyte, 64));
  const support::PeakMemory memory;

  EXPECT_TRUE(is_too_costly(check(opened, 0, 8)));
  EXPECT_TRUE(is_too_costly(
      read_metadata_record(opened.file, opened.toc.toc, last_record(opened), WorkBudget(opened.toc.toc))));

  if (support::kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  EXPECT_LT(memory.grown_bytes(), 64 * kMebibyte);
}

TEST(CostOfAFile, ALeafThatIsReadForOneByteCountsAsALeaf) {
  const Opened opened(support::unsealed_sample());
  const Segment& weights = opened.toc.toc.segments[5];
  const WorkBudget budget(opened.toc.toc);
  CheckedBytes checked(opened.file, opened.toc.toc, budget);
  std::byte byte = {};

  ASSERT_TRUE(is_ok(checked.read_into(weights.offset, {&byte, 1})));
  const std::uint64_t first = budget.made_bytes();
  ASSERT_TRUE(is_ok(checked.read_into(weights.offset + 1, {&byte, 1})));

  EXPECT_EQ(first, kLeafSize - 1 + weights.leaf_count() * sizeof(DiskHash));
  EXPECT_EQ(budget.made_bytes(), first) << "the second one was held";
}

TEST(CostOfAFile, WhatWritesItAnewRefusesItAndLeavesNothingBehind) {
  const support::TempDir dir;
  const std::string path = dir.file("costly.fatctx");
  support::write_file(path, support::file_of_fills(kLargestRecord, 1, false));
  const std::string out = dir.file("out.fatctx");
  ASSERT_TRUE(is_ok(make_keys(dir.file("owner"))));

  EXPECT_TRUE(is_too_costly(rewrite_container(path, out)));
  EXPECT_TRUE(is_too_costly(rewrite_container(path, path)));
  EXPECT_TRUE(is_too_costly(merge_containers(std::vector{path, path}, out)));
  EXPECT_TRUE(is_too_costly(sign_container(path, dir.file("owner.key"), out)));

  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(CostOfAFile, WhatWritesItAnewTakesTheLimitOfItsCaller) {
  const support::TempDir dir;
  const std::string path = dir.file("fills.fatctx");
  support::write_file(path, support::file_of_fills(8 * kMebibyte, 1, true));
  ASSERT_TRUE(is_ok(make_keys(dir.file("owner"))));
  const auto out = [&](const char* name) { return dir.file(name); };

  EXPECT_TRUE(is_too_costly(rewrite_container(path, out("a"), {.max_made_bytes = 8 * kMebibyte})));
  EXPECT_TRUE(is_ok(rewrite_container(path, out("b"), {.max_made_bytes = 9 * kMebibyte})));
  EXPECT_TRUE(is_too_costly(sign_container(path, dir.file("owner.key"), out("c"), {.max_made_bytes = 8 * kMebibyte})));
  EXPECT_TRUE(is_ok(sign_container(path, dir.file("owner.key"), out("d"), {.max_made_bytes = 9 * kMebibyte})));
}

}  // namespace cost_test
}  // namespace fatctx::container
