// Records that supersede others: nothing refers to the old one any more, and everything to the new one.
#include "container/write/incoming_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "container/read/opened_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace incoming_records_test {

using support::fails_with;
using support::is_ok;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PackRecord binary(const std::string& name, const std::string& arch, std::uint32_t soc = 0) {
  PackRecord record = support::binary_record(name, arch, support::pattern(500, 1));
  record.key.qnn_soc = soc;
  return record;
}

PackRecord weights(const std::string& name) {
  PackRecord record = support::plain_record(RecordType::kWeightBlob, name, support::pattern(500, 2));
  record.key.variant = "weights";
  return record;
}

// Returns records to add to a file that has `taken`, as an append that replaces collects them.
IncomingRecords replacing(std::vector<PackRecord> taken, bool one_per_soc = false) {
  IncomingRecords records;
  if (one_per_soc) records.allow_one_per_soc();
  records.replace_taken();
  const Opened file(support::packed_bytes(std::move(taken)));
  for (const RecordInfo& record : file.toc.toc.records) records.take(record);
  return records;
}

TEST(IncomingRecords, TheNameOfASupersededRecordIsFree) {
  IncomingRecords records = replacing({binary("old", "v73")});
  ASSERT_TRUE(is_ok(records.add(binary("new", "v73"))));
  EXPECT_THAT(records.superseded(), ElementsAre("old"));
  EXPECT_TRUE(is_ok(records.add(binary("old", "v75")))) << "another record";
  EXPECT_THAT(records.superseded(), ElementsAre("old"));
}

TEST(IncomingRecords, NobodyRefersToSupersededWeights) {
  IncomingRecords records = replacing({weights("old")});
  PackRecord binary_of_old = binary("binary", "v73");
  binary_of_old.weights = {"old"};
  ASSERT_TRUE(is_ok(records.add(std::move(binary_of_old))));
  ASSERT_TRUE(is_ok(records.check_references()));
  ASSERT_TRUE(is_ok(records.add(weights("new"))));
  const Status checked = records.check_references();
  ASSERT_TRUE(fails_with(checked, ErrorCode::kBadReference, "F27"));
  EXPECT_THAT(checked.error().message, HasSubstr("refers to weights \"old\", which do not exist"));
}

TEST(IncomingRecords, WhatSupersededARecordIsNotSupersededItself) {
  for (const char* const name : {"old", "new"}) {
    IncomingRecords records = replacing({binary("old", "v73")});
    ASSERT_TRUE(is_ok(records.add(binary(name, "v73"))));
    EXPECT_TRUE(fails_with(records.add(binary(name, "v73")), ErrorCode::kExists)) << name;
    const Status second = records.add(binary("second", "v73"));
    ASSERT_TRUE(fails_with(second, ErrorCode::kExists)) << name;
    EXPECT_THAT(second.error().message, HasSubstr("has the same selection key as \"" + std::string(name) + "\""));
    EXPECT_THAT(second.error().message, HasSubstr("give one of them a variant"));
    EXPECT_THAT(records.superseded(), ElementsAre("old"));
  }
}

TEST(IncomingRecords, ASocIsThatOfTheRecordThatSuperseded) {
  IncomingRecords records = replacing({binary("old", "v73", 57)}, true);
  ASSERT_TRUE(is_ok(records.add(binary("new", "v73", 57))));
  const Status second = records.add(binary("second", "v75", 57));
  ASSERT_TRUE(fails_with(second, ErrorCode::kExists));
  EXPECT_THAT(second.error().message, HasSubstr("is for SoC 57, as \"new\" is"));
  EXPECT_THAT(second.error().message, HasSubstr("leave one of them out"));
}

TEST(IncomingRecords, WeightsThatAreNamedTwiceCountOnce) {
  IncomingRecords records;
  PackRecord record = binary("binary", "v73");
  record.weights = {"b", "a", "b"};
  ASSERT_TRUE(is_ok(records.add(std::move(record))));
  EXPECT_THAT(records.records().front().weights, ElementsAre("a", "b"));
}

}  // namespace incoming_records_test
}  // namespace fatctx::container
