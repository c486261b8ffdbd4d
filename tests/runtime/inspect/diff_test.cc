// The results of comparing two containers.
#include "fatctx/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "support/appended.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace diff_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::pattern;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Container opened(const Bytes& bytes) { return Container::open(Source::of_memory(bytes)).value(); }

Result<DiffReport> compared(const Bytes& before, const Bytes& after) { return diff(opened(before), opened(after)); }

Bytes packed(std::vector<PackRecord> records, PackOptions options = {}) {
  return support::packed_bytes(std::move(records), std::move(options));
}

// Returns lines such as "changed weights", one for each record that differs.
std::vector<std::string> changes_of(const DiffReport& report) {
  std::vector<std::string> lines;
  for (const RecordDifference& difference : report.records) {
    lines.push_back(std::string(change_name(difference.change)) + " " + difference.before.name +
                    (difference.before.name == difference.after.name ? "" : ">" + difference.after.name));
  }
  return lines;
}

PackRecord& named(std::vector<PackRecord>& records, const std::string& name) {
  return *std::find_if(records.begin(), records.end(), [&](const PackRecord& record) { return record.name == name; });
}

TEST(Diff, AFileAndItselfAreTheSameAndNoPayloadIsRead) {
  const Bytes& bytes = support::unsealed_sample();
  const auto report = compared(bytes, bytes);

  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(report.value().same());
  EXPECT_EQ(report.value().same_records, 6U) << "the description is compared as what it says";
  EXPECT_THAT(report.value().records, IsEmpty());
  for (const DiffedContainer& side : {report.value().before, report.value().after}) {
    EXPECT_EQ(side.record_count, 6U);
    EXPECT_EQ(side.record_bytes_in_both, side.record_bytes);
    EXPECT_EQ(side.stored_bytes_in_both, side.stored_bytes);
    EXPECT_GT(side.record_bytes, support::kSampleWeightsSize);
  }
  EXPECT_GT(report.value().read_bytes, 0U);
  EXPECT_LT(report.value().read_bytes, 4'096U);
}

TEST(Diff, WhatWasAddedRemovedAndChangedIsNamedWithItsSizes) {
  auto records = support::cpu_records();
  const Bytes before = packed(records);
  named(records, "cpu-x86-64-v3").source.bytes = pattern(901, 40);
  std::erase_if(records, [](const PackRecord& record) { return record.name == "cpu-x86-64-v2"; });
  records.push_back(support::plain_record(RecordType::kOpaque, "extra", pattern(77, 41)));
  const Bytes after = packed(records);

  const auto report = compared(before, after);

  ASSERT_TRUE(is_ok(report));
  EXPECT_FALSE(report.value().same());
  EXPECT_THAT(changes_of(report.value()),
              ElementsAre("removed cpu-x86-64-v2>", "changed cpu-x86-64-v3", "added >extra"));
  const RecordDifference& changed = report.value().records[1];
  EXPECT_EQ(changed.before.size_bytes, 300U + 37 * 2);
  EXPECT_EQ(changed.after.size_bytes, 901U);
  EXPECT_EQ(changed.after.target, "cpu x86-64-v3");
  EXPECT_NE(changed.before.hash, changed.after.hash);
  EXPECT_EQ(report.value().records[0].after.id, 0U);
  EXPECT_EQ(report.value().records[2].after.size_bytes, 77U);
  EXPECT_EQ(report.value().same_records, 4U);
}

TEST(Diff, TheSameContentForAnotherTargetOrUnderAnotherNameIsToldFromAChange) {
  auto records = support::cpu_records();
  records.push_back(support::plain_record(RecordType::kOpaque, "notes", pattern(60, 44)));
  const Bytes before = packed(records);
  named(records, "cpu-x86-64-v2").key.arch = "x86-64";
  named(records, "cpu-x86-64-v4").name = "fastest";
  named(records, "notes").name = "remarks";
  PackRecord& both = named(records, "cpu-aarch64");
  both.name = "arm";
  both.key.features = {"sve"};
  const auto report = compared(before, packed(records));

  ASSERT_TRUE(is_ok(report));
  auto lines = changes_of(report.value());
  std::sort(lines.begin(), lines.end());
  EXPECT_THAT(lines, ElementsAre("renamed cpu-x86-64-v4>fastest", "renamed notes>remarks", "retargeted cpu-aarch64>arm",
                                 "retargeted cpu-x86-64-v2"));
  EXPECT_EQ(report.value().after.record_bytes_in_both, report.value().after.record_bytes);
}

TEST(Diff, ABinaryThatRefersToWeightsOfAnotherNameIsRebound) {
  std::vector<PackRecord> records = {support::binary_record("a", "v73", pattern(500, 3)),
                                     support::plain_record(RecordType::kWeightBlob, "one", pattern(900, 4)),
                                     support::plain_record(RecordType::kWeightBlob, "two", pattern(900, 5))};
  records[0].weights = {"one"};
  const Bytes before = packed(records);
  records[0].weights = {"two"};

  const auto report = compared(before, packed(records));

  ASSERT_TRUE(is_ok(report));
  EXPECT_THAT(changes_of(report.value()), ElementsAre("rebound a"));
  EXPECT_THAT(report.value().records[0].before.weights, ElementsAre("one"));
  EXPECT_THAT(report.value().records[0].after.weights, ElementsAre("two"));
}

TEST(Diff, TensorsOfAChangedBlobAreComparedByTypeAndBytes) {
  const auto with = [](Bytes bytes, std::vector<PackTensor> tensors) {
    PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", std::move(bytes));
    weights.tensors = std::move(tensors);
    return packed({std::move(weights)});
  };
  const auto tensor = [](const std::string& name, std::uint64_t offset, std::uint64_t size, DType type = DType::kI8) {
    const std::uint64_t bytes_each = dtype_bits(type) / 8;
    return PackTensor{
        .name = name, .dtype = type, .shape = {size / bytes_each}, .offset_in_blob = offset, .size_bytes = size};
  };
  const Bytes old = pattern(200'000, 8);
  Bytes fresh(64 + old.size(), std::byte{3});  // everything moves
  std::copy(old.begin(), old.end(), fresh.begin() + 64);
  fresh[64 + 120'000] ^= std::byte{1};
  const Bytes before = with(old, {tensor("same", 0, 80'000), tensor("bytes", 100'000, 40'000),
                                  tensor("type", 150'000, 400), tensor("gone", 160'000, 64)});
  const Bytes after = with(fresh, {tensor("same", 64, 80'000), tensor("bytes", 100'064, 40'000),
                                   tensor("type", 150'064, 400, DType::kF32), tensor("new", 170'000, 32)});

  const auto report = compared(before, after);

  ASSERT_TRUE(is_ok(report));
  const auto& records = report.value().records;
  const auto blob = std::find_if(records.begin(), records.end(),
                                 [](const RecordDifference& d) { return d.type == RecordType::kWeightBlob; });
  ASSERT_NE(blob, records.end());
  EXPECT_EQ(blob->change, Change::kChanged);
  EXPECT_EQ(blob->same_tensors, 1U);
  std::vector<std::string> lines;
  for (const DiffedTensor& t : blob->tensors) {
    lines.push_back(std::string(change_name(t.change)) + " " + t.name + " " + t.type_before + ">" + t.type_after);
  }
  EXPECT_THAT(lines, ElementsAre("changed bytes int8[40000]>int8[40000]", "removed gone int8[64]>",
                                 "added new >int8[32]", "changed type int8[400]>float32[100]"));
  EXPECT_GT(report.value().read_bytes, 2 * 120'000U);
}

TEST(Diff, DescriptionsAreComparedFactByFactAndTheWriterIsOnlyTold) {
  auto records = support::cpu_records();
  PackOptions options;
  options.model_name = "first";
  options.options = {{"threads", "4", "cpu"}, {"mode", "fast", ""}};
  const Bytes before = packed(records, options);
  options.model_name = "second";
  options.options = {{"threads", "8", "cpu"}, {"extra", "1", ""}};
  named(records, "cpu-aarch64").description.producer = "compiler 1.3";

  const auto report = compared(before, packed(records, options));

  ASSERT_TRUE(is_ok(report));
  EXPECT_THAT(report.value().records, IsEmpty());
  EXPECT_FALSE(report.value().same());
  std::vector<std::string> lines;
  for (const DescriptionDifference& fact : report.value().description) {
    lines.push_back(fact.what + ": " + fact.before + ">" + fact.after);
  }
  EXPECT_THAT(lines, ElementsAre("name: first>second", "option cpu/threads: 4>8", "option mode: fast>",
                                 "option extra: >1", "record \"cpu-aarch64\": producer: compiler 1.2>compiler 1.3"));
  EXPECT_THAT(report.value().after.writer, HasSubstr("fatctx"));
}

TEST(Diff, BytesInBothAreThoseOfEqualRecordsAndOfEqualLeaves) {
  constexpr std::size_t kLeaf = 65'536;
  Bytes one = pattern(4 * kLeaf, 5);
  Bytes two = one;
  two[kLeaf + 7] ^= std::byte{1};
  const auto report =
      compared(packed({support::binary_record("a", "v73", one)}), packed({support::binary_record("a", "v73", two)}));
  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().after.record_bytes_in_both, 0U);
  EXPECT_GE(report.value().after.stored_bytes_in_both, 3 * kLeaf);
  EXPECT_LT(report.value().after.stored_bytes_in_both, 4 * kLeaf);
}

TEST(Diff, AnAppendAddsARecordAndAGeneration) {
  const Bytes before = support::unsealed_sample();
  PackRecord record = support::binary_record("new", "new", pattern(500, 3));
  record.weights = {"weights"};
  const support::Appended after = support::append(before, {std::move(record)});
  ASSERT_TRUE(is_ok(after.report));

  const auto report = compared(before, after.bytes);

  ASSERT_TRUE(is_ok(report));
  EXPECT_THAT(changes_of(report.value()), ElementsAre("added >new"));
  EXPECT_THAT(report.value().description, IsEmpty());
  EXPECT_EQ(report.value().before.uuid, report.value().after.uuid);
  EXPECT_EQ(report.value().after.generation, 2U);
}

TEST(Diff, JsonSaysTheSame) {
  auto records = support::cpu_records();
  const Bytes before = packed(records);
  named(records, "cpu-x86-64-v3").name = "renamed";
  const auto report = compared(before, packed(records));
  ASSERT_TRUE(is_ok(report));

  const auto json = nlohmann::json::parse(to_json(report.value()));

  EXPECT_EQ(json["schema"], "fatctx.diff/1");
  EXPECT_EQ(json["same"], false);
  EXPECT_EQ(json["same_records"], 5);
  EXPECT_EQ(json["records"][0]["change"], "renamed");
  EXPECT_EQ(json["records"][0]["before"]["name"], "cpu-x86-64-v3");
  EXPECT_EQ(json["records"][0]["after"]["name"], "renamed");
  EXPECT_EQ(json["read_bytes"], report.value().read_bytes);
}

TEST(Diff, DamageIsAnErrorThatNamesRecordAndContainer) {
  Bytes damaged = support::unsealed_sample();
  const Container whole = opened(support::unsealed_sample());
  for (const RecordInfo& record : support::records_in(whole)) {
    if (record.type == RecordType::kDescription) damaged[static_cast<std::size_t>(record.file_offset)] ^= std::byte{1};
  }
  const auto report = compared(support::unsealed_sample(), damaged);
  ASSERT_TRUE(fails_with(report, ErrorCode::kChecksumMismatch, "F37"));
  EXPECT_THAT(report.error().message, HasSubstr("memory: record 7"));
}

}  // namespace diff_test
}  // namespace fatctx
