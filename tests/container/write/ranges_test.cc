// Ranges of a record: refusals with the words that give the reason, and the bytes that they save.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace ranges_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

PackRecord with_ranges(const std::string& name, Bytes bytes, std::vector<PackRange> ranges) {
  PackRecord record = support::plain_record(RecordType::kOpaque, name, std::move(bytes));
  record.ranges = std::move(ranges);
  return record;
}

std::string refusal(PackRecord record) {
  const support::TempDir folder;
  std::vector<PackRecord> records;
  records.push_back(std::move(record));
  const auto packed = support::pack(std::move(records), folder.file("m.fatctx"));
  EXPECT_TRUE(fails_with(packed, ErrorCode::kInvalidArgument));
  EXPECT_TRUE(folder.names().empty());
  return packed.ok() ? std::string() : packed.error().message;
}

TEST(Ranges, ThatCannotBeAreRefusedWithTheReason) {
  const Bytes bytes = support::pattern(1'000, 1);
  EXPECT_THAT(refusal(with_ranges("r", bytes, {{"a", 10, 0}})),
              HasSubstr("record \"r\": range \"a\" has 0 bytes at 10; at least 1 byte"));
  EXPECT_THAT(refusal(with_ranges("r", bytes, {{"a", 10, std::numeric_limits<std::uint64_t>::max()}})),
              HasSubstr("an end below 2^64"));
  EXPECT_THAT(refusal(with_ranges("r", bytes, {{"a", 10, 20}, {"b", 29, 5}})),
              HasSubstr("range \"b\" begins at 29, inside \"a\", which has 20 bytes at 10; list ranges"));
  EXPECT_THAT(refusal(with_ranges("r", bytes, {{"a", 10, 20}, {"b", 10, 5}})), HasSubstr("begins at 10, inside \"a\""));
  EXPECT_THAT(refusal(with_ranges("r", bytes, {{"a", 10, 20}, {"b", 9, 1}})),
              HasSubstr("begins at 9, in front of \"a\""));
  EXPECT_THAT(refusal(with_ranges("r", bytes, {{"a", 0, 5}, {"b", 10, 20}, {"c", 29, 1}})),
              HasSubstr("inside \"b\", which has 20 bytes at 10"));
  EXPECT_THAT(refusal(with_ranges("r", bytes, {{"a", 0, 5}, {"b", 990, 11}})),
              HasSubstr("range \"b\" has 11 bytes at 990, which are not inside bytes in memory with its 1000 bytes"));

  PackRecord tensors = with_ranges("r", bytes, {{"a", 10, 20}});
  tensors.type = RecordType::kWeightBlob;
  tensors.tensors = {{.name = "t", .dtype = DType::kU8, .shape = {4}, .offset_in_blob = 0, .size_bytes = 4}};
  EXPECT_THAT(refusal(std::move(tensors)), HasSubstr("it has tensors, which say where its parts are"));
  PackRecord packed = with_ranges("r", bytes, {{"a", 10, 20}});
  packed.codec = Codec::kLz4;
  EXPECT_THAT(refusal(std::move(packed)), HasSubstr("take codec none"));
}

TEST(Ranges, MayTouchEachOtherAndReachTheEnd) {
  const support::TempDir folder;
  const auto packed =
      support::pack({with_ranges("r", support::pattern(1'000, 1), {{"a", 0, 10}, {"b", 10, 20}, {"c", 30, 970}})},
                    folder.file("m.fatctx"));
  EXPECT_TRUE(is_ok(packed));
}

TEST(Ranges, WithEqualBytesAreStoredOnceWhereverTheyAre) {
  const auto records = [](bool ranges) {
    std::vector<PackRecord> made;
    for (std::uint32_t i = 0; i < 2; ++i) {
      const Bytes shared = support::pattern(90'001, 7);
      Bytes bytes = support::pattern(70'003 + 4'001 * i, 20 + i);
      const std::uint64_t at = bytes.size();
      bytes.insert(bytes.end(), shared.begin(), shared.end());
      made.push_back(with_ranges(
          "r" + std::to_string(i), std::move(bytes),
          ranges ? std::vector<PackRange>{{"own", 0, at}, {"shared", at, shared.size()}} : std::vector<PackRange>{}));
    }
    return made;
  };
  const support::TempDir folder;
  const auto with = support::pack(records(true), folder.file("with.fatctx"));
  const auto without = support::pack(records(false), folder.file("without.fatctx"));
  ASSERT_TRUE(is_ok(with));
  ASSERT_TRUE(is_ok(without));
  EXPECT_EQ(without.value().shared_bytes, 0U) << "pages are at other places";
  EXPECT_GE(with.value().shared_bytes, 89'000U);
}

// Returns two records of `size` bytes with a range of `shared` bytes in common, and with `hidden` bytes in common that
// only a search for runs finds. No pages of them are equal.
std::vector<PackRecord> two_records(std::size_t size, std::size_t shared, std::size_t hidden, bool ranges) {
  std::vector<PackRecord> made;
  for (std::uint32_t i = 0; i < 2; ++i) {
    Bytes bytes = support::pattern(size - shared - hidden, 20 + i);
    const Bytes more = support::pattern(hidden, 30);
    bytes.insert(bytes.begin() + 3'003 + 1'001 * i, more.begin(), more.end());
    const std::uint64_t at = bytes.size();
    const Bytes part = support::pattern(shared, 50);
    bytes.insert(bytes.end(), part.begin(), part.end());
    if (i == 1) std::rotate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
    std::vector<PackRange> both = {{"own", i == 0 ? 0 : shared, at}, {"shared", i == 0 ? at : 0, shared}};
    if (i == 1) std::swap(both[0], both[1]);
    if (!ranges) both.clear();
    made.push_back(with_ranges("r" + std::to_string(i), std::move(bytes), std::move(both)));
  }
  return made;
}

std::uint64_t stored_by(Sharing sharing, std::vector<PackRecord> records) {
  const support::TempDir folder;
  PackOptions options;
  options.sharing = sharing;
  const auto packed = support::pack(std::move(records), folder.file("m.fatctx"), options);
  EXPECT_TRUE(is_ok(packed));
  std::uint64_t stored = 0;
  for (const PackedRecordReport& record : packed.value().records) {
    if (record.name.starts_with("r")) stored += record.stored_bytes;
  }
  return stored;
}

// Pages win unless ranges save a 64th of the bytes.
TEST(Ranges, ThatSaveASixtyFourthAreTakenInsteadOfPages) {
  bool at_the_border = false;
  for (std::size_t size = 96'928;; size += 32) {
    ASSERT_LT(size, 97'100U);
    const std::uint64_t stored = stored_by(Sharing::kPages, two_records(size, 3'100, 0, true));
    if (stored == 2 * size) break;  // pages were taken; none of them are equal
    at_the_border = at_the_border || stored + 2 * size / 64 == 2 * size;
  }
  EXPECT_TRUE(at_the_border);
}

// Ranges win unless runs save a 64th of the bytes more.
TEST(Ranges, ThatCostASixtyFourthMoreAreTakenInsteadOfRuns) {
  constexpr std::size_t kSize = 96'000;
  bool at_the_border = false;
  std::uint64_t by_ranges = 1;
  std::uint64_t by_runs = 0;
  for (std::size_t hidden = 2'950; by_ranges != by_runs; ++hidden) {
    ASSERT_LT(hidden, 2'970U);
    by_runs = stored_by(Sharing::kBytes, two_records(kSize, 30'000, hidden, false));
    by_ranges = stored_by(Sharing::kBytes, two_records(kSize, 30'000, hidden, true));
    at_the_border = at_the_border || by_ranges == by_runs + 2 * kSize / 64;
  }
  EXPECT_TRUE(at_the_border);
}

PackReport packed_by(Sharing sharing, std::vector<PackRecord> records, const PackOptions& given = {}) {
  const support::TempDir folder;
  PackOptions options = given;
  options.sharing = sharing;
  return support::pack(std::move(records), folder.file("m.fatctx"), options).value();
}

// Two records whose ranges are stored once, and a third one without ranges that begins like the first.
TEST(Ranges, AreSourcesOfRecordsWithoutRanges) {
  constexpr std::size_t kCommon = 90'001;
  constexpr std::size_t kFront = 20 * 4'096;
  const auto behind = [](Bytes bytes, const Bytes& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return bytes;
  };
  const Bytes common = support::pattern(kCommon, 7);
  const Bytes front = support::pattern(kFront, 20);
  for (const Sharing sharing : {Sharing::kPages, Sharing::kBytes}) {
    const PackReport report =
        packed_by(sharing, {with_ranges("a", behind(front, common), {{"common", kFront, kCommon}}),
                            with_ranges("b", behind(support::pattern(70'003, 21), common), {{"", 70'003, kCommon}}),
                            with_ranges("c", behind(front, support::pattern(30'000, 22)), {})});
    std::map<std::string, PackedRecordReport> records;
    for (const PackedRecordReport& record : report.records) records.emplace(record.name, record);
    EXPECT_EQ(records.at("a").stored_bytes, kFront + kCommon);
    EXPECT_GE(records.at("b").shared_bytes, kCommon - 1'000);
    EXPECT_GE(records.at("c").shared_bytes, kFront - 1'000);
    EXPECT_EQ(records.at("a").sharing_order, 1U);
    EXPECT_EQ(records.at("b").sharing_order, 2U);
    EXPECT_EQ(records.at("c").sharing_order, 3U);
  }
}

// Returns two records of the same 100 ranges: in another order, or behind more bytes.
std::vector<PackRecord> moved_records(bool shuffled, bool ranges) {
  constexpr std::size_t kSize = 2'000;
  std::vector<std::uint32_t> order(100);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 random(1);
  std::vector<PackRecord> made;
  for (const std::size_t more : {std::size_t{0}, std::size_t{1'001}}) {
    Bytes bytes = support::pattern(more, 3);
    std::vector<PackRange> all;
    for (const std::uint32_t i : order) {
      all.push_back({"", bytes.size(), kSize});
      const Bytes part = support::pattern(kSize, 100 + i);
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    made.push_back(
        with_ranges("r" + std::to_string(more), std::move(bytes), ranges ? std::move(all) : std::vector<PackRange>()));
    if (shuffled) std::shuffle(order.begin(), order.end(), random);
  }
  return made;
}

// The search for equal pages comes first. Its figures do not hold for a record that is stored by its ranges.
TEST(Ranges, ThatAreTakenAreNotReportedAsMovedPages) {
  PackOptions options;
  options.explain_sharing = true;
  for (const bool shuffled : {false, true}) {
    for (const bool ranges : {false, true}) {
      const PackReport report = packed_by(Sharing::kPages, moved_records(shuffled, ranges), options);
      std::uint64_t shifted = 0;
      std::uint64_t reordered = 0;
      for (const PackedRecordReport& record : report.records) {
        shifted += record.shifted_bytes;
        reordered += record.reordered_bytes;
      }
      EXPECT_EQ(report.shared_bytes > 190'000, ranges) << shuffled;
      EXPECT_EQ(shifted > 100'000, !ranges && !shuffled) << shuffled << ranges << shifted;
      EXPECT_EQ(reordered > 100'000, !ranges && shuffled) << shuffled << ranges << reordered;
      if (ranges) {
        EXPECT_EQ(shifted + reordered, 0U) << shuffled;
      }
    }
  }
}

// In the second record the range is 4 KiB behind its place in the first: that is a granule or it is none.
TEST(Ranges, CanBeMappedWhereTheyAreInTheSamePlaceOfAGranule) {
  const Bytes common = support::pattern(90'000, 7);
  std::vector<PackRecord> records;
  for (std::uint32_t i = 0; i < 2; ++i) {
    Bytes bytes = support::pattern((17 + i) * 4'096, 20 + i);
    const std::size_t at = bytes.size();
    bytes.insert(bytes.end(), common.begin(), common.end());
    records.push_back(with_ranges("r" + std::to_string(i), std::move(bytes), {{"common", at, common.size()}}));
  }
  for (const bool ranges : {true, false}) {
    for (const std::uint8_t granule_log2 : {std::uint8_t{12}, std::uint8_t{16}}) {
      PackOptions options;
      options.granule_log2 = granule_log2;
      const PackReport report = packed_by(Sharing::kBytes, records, options);
      std::uint64_t mappable = 0;
      std::uint64_t recipes = 0;
      for (const PackedRecordReport& record : report.records) {
        mappable += record.mappable_bytes;
        recipes += record.recipe_steps != 0 ? 1 : 0;
      }
      EXPECT_EQ(recipes, 1U) << ranges;
      EXPECT_EQ(mappable > 80'000, granule_log2 == 12) << ranges << mappable;
    }
    for (PackRecord& record : records) record.ranges.clear();
  }
}

}  // namespace ranges_test
}  // namespace fatctx
