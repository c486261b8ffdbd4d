// Ranges of a record: refusals with the words that give the reason, and the bytes that they save.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
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

}  // namespace ranges_test
}  // namespace fatctx
