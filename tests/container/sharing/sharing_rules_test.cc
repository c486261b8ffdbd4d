// Records that must not share, as docs/sharing.md says: the rules alone, and the resulting files.
#include "container/sharing/sharing_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "container/read/opened_file.h"
#include "fatctx/rewrite.h"
#include "support/appended.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace sharing_rules_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kCode = std::size_t{64} * 1024;      // of each binary, its own
constexpr std::size_t kWeights = std::size_t{256} * 1024;  // the same in all of them

// Returns a record with the weights of all targets behind code of its own.
PackRecord target(const std::string& name, std::vector<DescribedOption> options, std::uint32_t seed = 0) {
  Bytes bytes = support::pattern(kCode, seed == 0 ? static_cast<std::uint32_t>(name[0]) : seed);
  const Bytes weights = support::pattern(kWeights, 7);
  bytes.insert(bytes.end(), weights.begin(), weights.end());
  PackRecord record = support::binary_record(name, name, std::move(bytes));
  record.key.backend = "htp";
  record.description.options = std::move(options);
  record.description.graphs = {{"main", {}, {}}};
  return record;
}

const DescribedOption kDlbc{"graphs.dlbc", "true", "htp"};
const DescribedOption kFourCores{"graphs.num_cores", "4", "htp"};
const DescribedOption kUdma{"context.extended_udma", "1", "htp"};
const DescribedOption kNoUdma{"context.extended_udma", "false", "htp"};
const DescribedOption kLora{"context.lora_weight_sharing_enabled", "true", "htp"};
const DescribedOption kReference{"context.reference_weight_sharing_enabled", "true", "htp"};

PackOptions options_of(Sharing sharing, bool strict = false) {
  PackOptions options;
  options.sharing = sharing;
  options.strict_sharing = strict;
  return options;
}

// Returns how many copies of the weights the file has.
std::size_t copies_of_weights(const Bytes& file) {
  const Bytes weights = support::pattern(kWeights, 7);
  std::size_t count = 0;
  for (auto at = file.begin();; ++count) {
    at = std::search(at, file.end(), weights.begin(), weights.end());
    if (at == file.end()) return count;
    at += kWeights;
  }
}

struct Packed {
  PackReport report;
  Bytes bytes;
};

Packed packed(std::vector<PackRecord> records, PackOptions options = {}) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  auto report = support::pack(std::move(records), path, std::move(options));
  EXPECT_TRUE(is_ok(report));
  return {std::move(report).value(), support::read_file(path)};
}

std::vector<SharingCandidate> candidates_of(const std::vector<PackRecord>& records) {
  std::vector<SharingCandidate> candidates;
  candidates.reserve(records.size());
  for (const PackRecord& record : records) {
    candidates.push_back({.name = record.name,
                          .type = record.type,
                          .group = record.key.group,
                          .unit = record.key.unit,
                          .weights = record.weights,
                          .description = &record.description});
  }
  return candidates;
}

TEST(SharingRules, RecordsOfWhichNothingIsKnownShare) {
  const std::vector<PackRecord> records = {
      target("a", {}), target("b", {{"graphs.dlbc", "true", "another tool"}}),
      target("c", {{"graphs.dlbc", "false", "htp"}}),
      target("d", {{"graphs.num_cores", "1", "htp"}, {"graphs.num_cores", "x4", "htp"}})};
  const SharingRules rules = sharing_rules(candidates_of(records));

  EXPECT_THAT(rules.alone, ElementsAre(false, false, false, false));
  EXPECT_THAT(rules.warnings, IsEmpty());
  EXPECT_FALSE(rules.refusal);
  EXPECT_EQ(copies_of_weights(packed(records).bytes), 1U);
}

// Shows S4.19.
TEST(SharingRules, ARecordWithBandwidthCompressionKeepsBytesOfItsOwn) {
  for (const Sharing sharing : {Sharing::kPages, Sharing::kBytes}) {
    const Packed done = packed({target("a", {}), target("b", {kDlbc}), target("c", {})}, options_of(sharing));

    EXPECT_EQ(copies_of_weights(done.bytes), 2U) << "those of b, and those that a and c share";
    EXPECT_THAT(done.report.warnings,
                ElementsAre("record \"b\" has bandwidth compression (dlbc) on and shares no bytes with others"));
    const auto b = std::find_if(done.report.records.begin(), done.report.records.end(),
                                [](const PackedRecordReport& record) { return record.name == "b"; });
    EXPECT_EQ(b->stored_bytes, kCode + kWeights);
    EXPECT_EQ(b->pieces, 1U);
  }
}

TEST(SharingRules, AnEqualRecordOfWhichOneDoesNotShareIsStoredTwice) {
  std::vector<PackRecord> records = {target("a", {}, 3), target("b", {kDlbc}, 3), target("c", {}, 3)};
  EXPECT_EQ(copies_of_weights(packed(records).bytes), 2U);
  for (PackRecord& record : records) record.description.options.clear();
  EXPECT_EQ(copies_of_weights(packed(records).bytes), 1U);
}

// Shows S4.20.
TEST(SharingRules, RecordsForSeveralCoresShareWithNobody) {
  const Packed done = packed({target("a", {}), target("b", {kFourCores}), target("c", {kFourCores}), target("d", {})});

  EXPECT_EQ(copies_of_weights(done.bytes), 3U) << "neither with each other nor with those for one core";
  EXPECT_THAT(done.report.warnings, ElementsAre("record \"b\" is for 4 cores and shares no bytes with others",
                                                "record \"c\" is for 4 cores and shares no bytes with others"));
}

TEST(SharingRules, WeightsOfARecordThatDoesNotShareAreItsOwn) {
  std::vector<PackRecord> records;
  for (PackRecord record : {target("a", {}), target("b", {kDlbc})}) {
    PackRecord weights =
        support::plain_record(RecordType::kWeightBlob, "weights." + record.name, support::pattern(kWeights, 7));
    weights.key.group = "model";
    record.source.bytes.resize(kCode);
    record.weights = {weights.name};
    records.push_back(std::move(record));
    records.push_back(std::move(weights));
  }
  EXPECT_EQ(copies_of_weights(packed(records).bytes), 2U) << "equal, and yet one for each";

  records[2].description.options.clear();
  EXPECT_EQ(copies_of_weights(packed(records).bytes), 1U);
}

TEST(SharingRules, WeightsThatARecordThatDoesNotShareHasWithOthersAreWarnedOf) {
  std::vector<PackRecord> records = {target("a", {}), target("b", {kDlbc})};
  for (PackRecord& record : records) record.weights = {"weights"};
  records.push_back(support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(9'000, 8)));
  const SharingRules rules = sharing_rules(candidates_of(records));

  EXPECT_THAT(rules.alone, ElementsAre(false, true, false));
  ASSERT_EQ(rules.warnings.size(), 2U);
  EXPECT_EQ(rules.warnings[1].text,
            "weights \"weights\" are referred to by 2 records, and \"b\" of them has bandwidth compression (dlbc) on, "
            "which excludes sharing; give it weights of its own");
  EXPECT_THAT(rules.warnings[1].records, ElementsAre(0, 1, 2));
}

// Shows S4.21.
TEST(SharingRules, SharingOfLoraAndReferenceSharingTogetherIsUnsupported) {
  const support::TempDir folder;
  const auto report = support::pack({target("a", {kLora, kReference})}, folder.file("m.fatctx"));

  ASSERT_TRUE(fails_with(report, ErrorCode::kUnsupported));
  EXPECT_THAT(report.error().message, HasSubstr("record \"a\": weight sharing of LoRA and reference weight sharing"));
  EXPECT_TRUE(is_ok(support::pack({target("a", {kLora}), target("b", {kReference})}, folder.file("m.fatctx"))));

  const auto appended = support::append(support::unsealed_sample(), {target("a", {kLora, kReference})});
  EXPECT_TRUE(fails_with(appended.report, ErrorCode::kUnsupported));
  EXPECT_EQ(appended.bytes, support::unsealed_sample());
}

// Shows S4.18.
TEST(SharingRules, MixedDmaGenerationsShareAndAreWarnedOfWithTheBytesThatAreNotShared) {
  const Packed done = packed({target("a", {kUdma}), target("b", {kNoUdma}), target("c", {kUdma})});

  EXPECT_EQ(copies_of_weights(done.bytes), 1U);
  EXPECT_THAT(
      done.report.warnings,
      ElementsAre("group \"model\", unit \"main\": \"a\" is compiled with extended UDMA and \"b\" without, so that "
                  "they share less: " +
                  std::to_string(3 * kCode + kWeights) + " of their " + std::to_string(3 * (kCode + kWeights)) +
                  " bytes are not shared"));
  EXPECT_THAT(packed({target("a", {kUdma}), target("b", {kUdma}), target("c", {})}).report.warnings, IsEmpty());
}

// Shows S4.16.
TEST(SharingRules, DifferingGraphsOfTargetsAreNamed) {
  std::vector<PackRecord> records = {target("a", {}), target("b", {}), target("c", {}), target("d", {})};
  records[0].description.graphs = {{"prefill", {}, {}}, {"decode", {}, {}}};
  records[1].description.graphs = {{"decode", {}, {}}, {"prefill", {}, {}}};  // the same ones
  records[2].description.graphs = {{"prefill", {}, {}}, {"verify", {}, {}}};
  records[3].description.graphs = {};  // unknown
  PackRecord elsewhere = target("e", {});
  elsewhere.key.unit = "draft";
  records.push_back(std::move(elsewhere));

  EXPECT_THAT(
      packed(records).report.warnings,
      ElementsAre("group \"model\", unit \"main\": the graphs of \"c\" are not those of \"a\": it lacks \"decode\" "
                  "and has \"verify\" in addition; the same graphs for all targets share most"));
  EXPECT_THAT(packed(records, options_of(Sharing::kOff)).report.warnings, IsEmpty()) << "nothing is asked to be shared";
}

TEST(SharingRules, StrictSharingMakesErrorsOfWarnings) {
  const std::vector<std::vector<PackRecord>> all = {{target("a", {}), target("b", {kDlbc})},
                                                    {target("a", {}), target("b", {kFourCores})},
                                                    {target("a", {kUdma}), target("b", {kNoUdma})}};
  for (const std::vector<PackRecord>& records : all) {
    const support::TempDir folder;
    const std::string path = folder.file("m.fatctx");
    const auto strict = support::pack(records, path, options_of(Sharing::kPages, true));
    ASSERT_TRUE(fails_with(strict, ErrorCode::kUnsupported));
    EXPECT_THAT(strict.error().message, HasSubstr("; strict sharing was requested"));
    EXPECT_TRUE(is_ok(support::pack(records, path))) << "nothing was left where the file belongs";
  }
  EXPECT_THAT(packed({target("a", {}), target("b", {})}, options_of(Sharing::kPages, true)).report.warnings, IsEmpty());
}

// Shows S4.26 and S4.19.
TEST(SharingRules, WhatIsAppendedFindsTheBytesOfTheFileUnlessOneOfThemDoesNotShare) {
  const Bytes sharing = packed({target("a", {})}).bytes;
  const auto found = support::append(sharing, {target("b", {})});
  ASSERT_TRUE(is_ok(found.report));
  EXPECT_EQ(copies_of_weights(found.bytes), 1U);
  EXPECT_EQ(found.report.value().shared_bytes, kWeights);

  const auto alone = support::append(sharing, {target("b", {kDlbc})});
  ASSERT_TRUE(is_ok(alone.report));
  EXPECT_EQ(copies_of_weights(alone.bytes), 2U);
  EXPECT_EQ(alone.report.value().shared_bytes, 0U);
  EXPECT_THAT(alone.report.value().warnings,
              ElementsAre("record \"b\" has bandwidth compression (dlbc) on and shares no bytes with others"));

  const auto beside =
      support::append(packed({target("a", {kFourCores})}).bytes, {target("b", {}), target("c", {}, 'a')});
  ASSERT_TRUE(is_ok(beside.report));
  EXPECT_EQ(copies_of_weights(beside.bytes), 2U) << "b and c share with each other, and not with a";
  EXPECT_THAT(beside.report.value().warnings, IsEmpty()) << "a was told of when it was packed";

  AppendOptions strict;
  strict.strict_sharing = true;
  const auto refused = support::append(sharing, {target("b", {kDlbc})}, strict);
  EXPECT_TRUE(fails_with(refused.report, ErrorCode::kUnsupported));
  EXPECT_EQ(refused.bytes, sharing);
}

TEST(SharingRules, AFileThatIsWrittenAnewKeepsTheBytesApart) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  ASSERT_TRUE(is_ok(support::pack({target("a", {}), target("b", {kDlbc}), target("c", {})}, path)));

  const auto rewritten = rewrite_container(path, folder.file("n.fatctx"));

  ASSERT_TRUE(is_ok(rewritten));
  EXPECT_EQ(copies_of_weights(support::read_file(folder.file("n.fatctx"))), 2U);
}

// Shows S4.17.
TEST(SharingRules, SeveralReferenceBlobsServeAllTargetsAndThoseThatAreAppended) {
  const auto user = [](const std::string& name) {
    PackRecord record = target(name, {kReference});
    record.source.bytes.resize(kCode);
    record.weights = {"far", "near"};
    return record;
  };
  PackRecord far = support::plain_record(RecordType::kWeightBlob, "far", support::pattern(kWeights, 7));
  PackRecord near = support::plain_record(RecordType::kWeightBlob, "near", support::pattern(90'000, 8));
  const auto done = support::append(packed({user("a"), user("b"), far, near}).bytes, {user("c")});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_THAT(done.report.value().warnings, IsEmpty());
  EXPECT_EQ(copies_of_weights(done.bytes), 1U);
  const Opened opened(done.bytes);
  const std::vector<std::uint32_t> both = {opened.record("far").id, opened.record("near").id};
  for (const char* name : {"a", "b", "c"}) {
    const auto& weights = opened.record(name).weights;
    EXPECT_EQ(std::vector<std::uint32_t>(weights.begin(), weights.end()), both) << name;
  }
}

}  // namespace sharing_rules_test
}  // namespace fatctx::container
