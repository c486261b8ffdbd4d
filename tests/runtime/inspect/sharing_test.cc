// A container's sharing report: stored bytes, possible savings, and the bytes for one chip alone.
#include <gtest/gtest.h>

#include <algorithm>

#include "fatctx/info.h"
#include "fatctx/sharing.h"
#include "support/chip_corpus.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/sliced_container.h"

namespace fatctx {
namespace sharing_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::TempDir;

PackOptions with_sharing(Sharing how) {
  PackOptions options;
  options.sharing = how;
  return options;
}

class SharingOfChips : public ::testing::Test {
 protected:
  // Packs chips 0 to 3 of the corpus, the first one twice, and their weights for the first two.
  void SetUp() override {
    corpus_ = support::make_chip_corpus(7, {.tensors = 12, .rows = 64});
    for (std::size_t i = 0; i < corpus_.chips.size(); ++i) {
      records_.push_back(
          support::binary_record("chip" + std::to_string(i), "v" + std::to_string(70 + i), corpus_.chips[i]));
    }
    records_.push_back(support::binary_record("twin", "v79", corpus_.chips[0]));
    records_[0].weights = {"weights"};
    PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(100'000, 8));
    weights.tensors = {{.name = "w", .dtype = DType::kU8, .shape = {9}, .offset_in_blob = 0, .size_bytes = 9}};
    records_.push_back(std::move(weights));
    for (const PackRecord& record : records_) input_bytes_ += record.source.bytes.size();
  }
  [[nodiscard]] Container packed(Sharing how) {
    const std::string path = folder_.file(how == Sharing::kOff     ? "off.fatctx"
                                          : how == Sharing::kPages ? "pages.fatctx"
                                                                   : "bytes.fatctx");
    EXPECT_TRUE(is_ok(support::pack(records_, path, with_sharing(how))));
    return Container::open(path).value();
  }
  [[nodiscard]] static const RecordSharing& of(const Container& container, const SharingReport& report,
                                               std::string_view name) {
    const std::uint32_t id = container.find(name).value().id;
    return *std::find_if(report.records.begin(), report.records.end(),
                         [id](const RecordSharing& record) { return record.record_id == id; });
  }
  [[nodiscard]] static std::uint64_t metadata_bytes(const Container& container) {
    std::uint64_t bytes = 0;
    for (const RecordInfo& record : support::records_in(container)) {
      if (record.type == RecordType::kTensorTable || record.type == RecordType::kDescription) {
        bytes += record.stored_bytes;
      }
    }
    return bytes;
  }

  TempDir folder_;
  support::ChipCorpus corpus_;
  std::vector<PackRecord> records_;
  std::uint64_t input_bytes_ = 0;
};

TEST_F(SharingOfChips, WhatIsPossibleDoesNotDependOnHowTheFileWasPacked) {
  const Container off = packed(Sharing::kOff);
  const Container pages = packed(Sharing::kPages);

  const auto of_off = measure_sharing(off);
  const auto of_pages = measure_sharing(pages);

  ASSERT_TRUE(is_ok(of_off));
  ASSERT_TRUE(is_ok(of_pages));
  const SharingTotals& a = of_off.value().totals;
  const SharingTotals& b = of_pages.value().totals;
  EXPECT_EQ(a.input_bytes, input_bytes_ + metadata_bytes(off));
  EXPECT_EQ(b.input_bytes, a.input_bytes);
  EXPECT_EQ(a.off_bytes, a.input_bytes - corpus_.chips[0].size());
  EXPECT_EQ(b.off_bytes, a.off_bytes);
  EXPECT_EQ(b.bytes_at_most, a.bytes_at_most);
  for (std::size_t i = 0; i < a.pages.size(); ++i) EXPECT_EQ(b.pages[i].bytes, a.pages[i].bytes);
  EXPECT_EQ(a.stored_bytes, a.off_bytes);
  EXPECT_LT(b.stored_bytes, a.stored_bytes);
  EXPECT_GE(b.stored_bytes, b.pages[0].bytes);
  EXPECT_LE(b.pages[0].bytes, b.pages[1].bytes);
  EXPECT_LE(b.pages[1].bytes, b.pages[2].bytes);
  EXPECT_LT(b.bytes_at_most, b.pages[0].bytes);
}

TEST_F(SharingOfChips, RecipesAreMeasuredByTheBytesThatTheyMake) {
  const Container off = packed(Sharing::kOff);
  const Container by_bytes = packed(Sharing::kBytes);

  const SharingReport possible = measure_sharing(off).value();
  const auto report = measure_sharing(by_bytes);

  ASSERT_TRUE(is_ok(report));
  const SharingTotals& totals = report.value().totals;
  EXPECT_EQ(totals.input_bytes, possible.totals.input_bytes);
  EXPECT_EQ(totals.off_bytes, possible.totals.off_bytes);
  EXPECT_EQ(totals.bytes_at_most, possible.totals.bytes_at_most);
  for (std::size_t i = 0; i < totals.pages.size(); ++i) {
    EXPECT_EQ(totals.pages[i].bytes, possible.totals.pages[i].bytes);
  }
  EXPECT_LT(totals.stored_bytes, totals.pages[0].bytes);
  EXPECT_EQ(report.value().layout_groups.size(), possible.layout_groups.size());
  std::size_t recipes = 0;
  for (const RecordInfo& record : support::records_in(by_bytes)) {
    const std::uint64_t composed = of(by_bytes, report.value(), record.name).composed_bytes;
    EXPECT_EQ(composed != 0, record.recipe) << record.name;
    if (!record.recipe) continue;
    ++recipes;
    const Container budget = Container::open(by_bytes.path(), {.max_copied_bytes = composed}).value();
    const auto view = budget.acquire(record.id);
    ASSERT_TRUE(is_ok(view));
    EXPECT_EQ(view.value().copied_bytes(), composed);
  }
  EXPECT_GE(recipes, 2U);
}

TEST_F(SharingOfChips, EveryRecordSaysWhatItSharesAndWithWhom) {
  const Container container = packed(Sharing::kPages);

  const SharingReport report = measure_sharing(container).value();

  const RecordSharing& twin = of(container, report, "twin");
  ASSERT_FALSE(twin.shared_with.empty());
  EXPECT_EQ(twin.shared_with.front().record_id, container.find("chip0").value().id);
  EXPECT_EQ(twin.shared_with.front().bytes, corpus_.chips[0].size());
  EXPECT_EQ(twin.own_bytes, 0U);
  const RecordSharing& second = of(container, report, "chip1");
  EXPECT_GT(second.shared_bytes, second.own_bytes) << "it has other code and the same weights";
  EXPECT_GT(second.pieces + twin.pieces, 2U) << "one of them is the base, and in one piece";
  const RecordSharing& weights = of(container, report, "weights");
  EXPECT_EQ(weights.own_bytes, 100'000U);
  EXPECT_EQ(weights.sharer_count, 0U);
  for (const RecordSharing& record : report.records) EXPECT_EQ(record.composed_bytes, 0U);
}

TEST_F(SharingOfChips, RecordsOfTheSameBytesAreALayoutGroupAlsoWhereTheyWereShifted) {
  const Container container = packed(Sharing::kPages);

  const SharingReport report = measure_sharing(container).value();

  const auto group = of(container, report, "chip0").layout_group;
  ASSERT_TRUE(group.has_value());
  EXPECT_EQ(of(container, report, "chip1").layout_group, group);
  EXPECT_EQ(of(container, report, "chip2").layout_group, group) << "its sections are shifted";
  EXPECT_EQ(of(container, report, "twin").layout_group, group);
  EXPECT_NE(of(container, report, "weights").layout_group, group);
  EXPECT_FALSE(of(container, report, "description").layout_group.has_value());
  const SharingLayoutGroup& chips = report.layout_groups[*group];
  std::uint64_t logical = 0;
  for (const std::uint32_t id : chips.records) logical += container.record(id).value().size_bytes;
  EXPECT_EQ(chips.size_bytes, logical);
  EXPECT_LT(chips.stored_bytes, chips.size_bytes);
  EXPECT_LT(chips.distinct_bytes, chips.stored_bytes);
}

TEST_F(SharingOfChips, OneChipAloneHoldsItsBinaryAndTheWeightsItRefersToWhole) {
  const Container container = packed(Sharing::kPages);

  const SharingReport report = measure_sharing(container).value();

  ASSERT_EQ(report.targets.size(), 5U);
  EXPECT_EQ(report.targets[0].target, "cpu v70");
  EXPECT_EQ(report.targets[0].records.size(), 3U) << "binary, weights, tensor table";
  EXPECT_EQ(report.targets[0].alone_bytes,
            corpus_.chips[0].size() + 100'000 + container.find("weights.tensors").value().size_bytes);
  EXPECT_EQ(report.targets[1].alone_bytes, corpus_.chips[1].size());
}

TEST_F(SharingOfChips, DamagedBytesAreAnErrorAndNoStatistics) {
  const Container whole = packed(Sharing::kPages);
  Bytes bytes = support::read_file(folder_.file("pages.fatctx"));
  bytes[static_cast<std::size_t>(whole.find("chip3").value().file_offset) + 5] ^= std::byte{1};
  support::write_file(folder_.file("damaged.fatctx"), bytes);
  const Container damaged = Container::open(folder_.file("damaged.fatctx")).value();

  const auto report = measure_sharing(damaged);

  ASSERT_TRUE(fails_with(report, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_NE(report.error().message.find("chip3"), std::string::npos) << report.error().message;
}

TEST_F(SharingOfChips, ProgressEndsWithEverythingThatWasRead) {
  const Container container = packed(Sharing::kOff);
  std::uint64_t last = 0;
  std::uint64_t total = 1;

  const auto report = measure_sharing(container, [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
  });

  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(last, total);
}

TEST(MeasureSharing, AFileThatClaimsFarMoreThanItHoldsIsRefused) {
  constexpr std::size_t kGranules = 256;
  support::SlicedContainer made({support::pattern(kGranules * support::kGranule, 9)});
  for (std::uint64_t i = 0; i < 4; ++i) {  // 4 times 32 MiB from 1 MiB
    support::SlicedRecord record = support::sliced("endless " + std::to_string(i), {});
    for (std::size_t slice = 0; slice < 32; ++slice) {
      record.slices.push_back({{i * support::kGranule, (kGranules - i) * support::kGranule}, 0});
    }
    made.add(std::move(record));
  }
  const TempDir folder;
  support::write_file(folder.file("endless.fatctx"), made.bytes());
  const Container container = Container::open(folder.file("endless.fatctx")).value();

  EXPECT_TRUE(fails_with(measure_sharing(container), ErrorCode::kLimitExceeded));
}

TEST(MeasureSharing, ACompressedRecordCountsAsItIsStored) {
  const TempDir folder;
  PackRecord cold = support::plain_record(RecordType::kSourceModel, "source", Bytes(200'000, std::byte{7}));
  cold.codec = Codec::kLz4;
  ASSERT_TRUE(is_ok(support::pack({std::move(cold)}, folder.file("cold.fatctx"))));
  const Container container = Container::open(folder.file("cold.fatctx")).value();

  const SharingReport report = measure_sharing(container).value();

  const RecordInfo record = container.find("source").value();
  ASSERT_NE(record.codec, Codec::kNone);
  EXPECT_EQ(report.totals.input_bytes, report.totals.stored_bytes);
  EXPECT_EQ(report.totals.bytes_at_most, report.totals.stored_bytes);
  EXPECT_TRUE(report.layout_groups.empty());
  EXPECT_TRUE(report.targets.empty());
}

TEST(MeasureSharing, JsonHoldsItOnlyWhenItIsAskedFor) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(support::pack(support::cpu_records(), folder.file("cpu.fatctx"))));
  const Container container = Container::open(folder.file("cpu.fatctx")).value();

  const std::string with = info_json(container, {}, {.sharing = true}).value();
  const std::string without = info_json(container, {}).value();

  EXPECT_NE(with.find("\"bytes_at_most\""), std::string::npos);
  EXPECT_EQ(without.find("\"bytes_at_most\""), std::string::npos);
}

}  // namespace sharing_test
}  // namespace fatctx
