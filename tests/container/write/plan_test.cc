// Plans at the limits of the format: they go up to each and not beyond. Sources of such sizes are never read.
#include "container/write/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "container/format/metadata_codec.h"
#include "container/read/opened_file.h"
#include "container/write/every_word.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace plan_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

// A source of any size whose bytes cannot be read.
class Sized final : public ByteSource {
 public:
  explicit Sized(std::uint64_t size) : size_(size) {}
  [[nodiscard]] std::string name() const override { return "sized"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return size_; }
  [[nodiscard]] Status read_at(std::uint64_t, std::span<std::byte>) const override {
    return Error{ErrorCode::kIo, "it was read"};
  }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }

 private:
  std::uint64_t size_;
};

PackRecord with_variant(PackRecord record) {
  record.key.variant = record.name;
  return record;
}

PackRecord sized(const std::string& name, std::uint64_t size) {
  PackRecord record = with_variant(support::plain_record(RecordType::kSourceModel, name, {}));
  record.source.source = std::make_shared<const Sized>(size);
  return record;
}

Result<Plan> planned(std::vector<PackRecord> records, const Progress& callback = {}) {
  PackOptions options;
  options.sharing = Sharing::kOff;
  WorkProgress progress(callback);
  return make_plan(std::move(records), {}, options, progress);
}

Result<Plan> planned_append(std::vector<PackRecord> records) {
  PackOptions options;
  options.extent_log2 = kExtentLog2;
  AppendStart start;
  start.find_in_file = [](Plan&) -> Status { return Done{}; };
  const Progress none;
  WorkProgress progress(none);
  return make_append_plan(std::move(records), {}, std::move(start), options, progress);
}

TEST(Plan, ASegmentHasTheLeavesThatTheFormatAllowsAndNotMore) {
  constexpr std::uint64_t kMost = kMaxLeaves << kLeafLog2;
  for (const bool append : {false, true}) {
    const auto of_size = [&](std::uint64_t size) {
      return append ? planned_append({sized("m", size)}) : planned({sized("m", size)});
    };
    EXPECT_TRUE(is_ok(of_size(kMost))) << append;
    const auto refused = of_size(kMost + 1);
    ASSERT_TRUE(fails_with(refused, ErrorCode::kLimitExceeded)) << append;
    EXPECT_THAT(refused.error().message, HasSubstr("a record of 1099511627777 bytes; at most 1099511627776"));
  }
}

// 127 records of the largest size, and one that fills the rest of the file. Their names make the table of contents as
// long as a unit of the file, which can then end exactly at its limit.
TEST(Plan, AFileGrowsToItsLargestSizeAndNotBeyond) {
  constexpr std::uint64_t kUnit = std::uint64_t{1} << kSmallExtentLog2;
  std::size_t name = 10;
  std::size_t last_name = 10;
  const auto with_last = [&](std::uint64_t size) {
    std::vector<PackRecord> records;
    for (std::uint64_t i = 0; i < 128; ++i) {  // each has another size: equal sizes would be compared
      records.push_back(sized(std::to_string(100 + i), i == 127 ? size : (std::uint64_t{1} << 40) - i * kUnit));
      records.back().name.resize(i == 127 ? last_name : name, 'n');
    }
    PackOptions options;
    options.sharing = Sharing::kOff;
    options.extent_log2 = kSmallExtentLog2;
    const Progress none;
    WorkProgress progress(none);
    return make_plan(std::move(records), {}, options, progress);
  };
  const auto missing = [&] { return kUnit - with_last(kUnit).value().toc_size.all % kUnit; };
  while (missing() > 200) ASSERT_LE(++name, kMaxNameSize);
  last_name += static_cast<std::size_t>(missing());
  ASSERT_EQ(missing(), kUnit) << "the table ends with a unit";

  std::uint64_t fits = 1;
  for (std::uint64_t step = (std::uint64_t{1} << 39) / kUnit; step != 0; step /= 2) {
    if (with_last((fits + step) * kUnit).ok()) fits += step;
  }
  EXPECT_EQ(with_last(fits * kUnit).value().committed_end, kMaxFileSize);
  const auto refused = with_last((fits + 1) * kUnit);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kLimitExceeded));
  EXPECT_THAT(refused.error().message, HasSubstr("the file would exceed 140737488355328 bytes"));
}

TEST(Plan, ARecordOfTheLargestSizeIsCompressedAndALargerOneIsNot) {
  const auto compressed = [](std::uint64_t size, std::uint64_t& told) {
    PackRecord record = sized("m", size);
    record.codec = Codec::kLz4;
    return planned({std::move(record)}, [&](std::uint64_t, std::uint64_t total) { told = std::max(told, total); });
  };
  std::uint64_t told = 0;
  EXPECT_TRUE(fails_with(compressed(kMaxColdRecordSize, told), ErrorCode::kIo)) << "it is read";
  EXPECT_EQ(told, kMaxColdRecordSize);
  told = 0;
  const auto stored = compressed(kMaxColdRecordSize + 1, told);
  ASSERT_TRUE(is_ok(stored));
  EXPECT_EQ(told, 0U);
  ASSERT_EQ(stored.value().warnings.size(), 1U);
  EXPECT_THAT(stored.value().warnings[0],
              HasSubstr("record \"m\": 1073741825 bytes, above the 1073741824 that may be"));
  EXPECT_EQ(stored.value().records[0].codec, Codec::kNone);
}

TEST(Plan, AFrameMustBeSmallerThanItsRecord) {
  const auto compressed = [](std::size_t zeros) {
    Bytes bytes = support::pattern(4'000, 1);
    bytes.resize(bytes.size() + zeros);
    PackRecord record = with_variant(support::plain_record(RecordType::kSourceModel, "m", std::move(bytes)));
    record.codec = Codec::kLz4;
    return std::move(planned({std::move(record)}).value().records[0]);
  };
  std::size_t zeros = 0;
  while (compressed(zeros).codec == Codec::kNone) ASSERT_LT(++zeros, 4'000U);
  const PlannedRecord smaller = compressed(zeros);
  EXPECT_EQ(smaller.stored_size + 1, smaller.input.size()) << "one zero more in the same frame";
  EXPECT_EQ(compressed(zeros - 1).stored_size, smaller.stored_size) << "stored as it is";
}

TEST(Plan, AnOpaqueRecordOfOneLeafLiesAmongTheSmallOnes) {
  for (const auto& [size, own_extent, among_small] :
       {std::tuple{kLeafSize, false, true}, {kLeafSize + 1, false, false}, {kLeafSize, true, false}}) {
    PackRecord record = with_variant(support::plain_record(RecordType::kOpaque, "o", support::pattern(size, 1)));
    record.own_extent = own_extent;
    const Plan plan = planned({std::move(record)}).value();
    ASSERT_EQ(plan.records.size(), 2U);
    const PlannedRecord& opaque = plan.records[1];
    EXPECT_EQ(plan.segments[opaque.slices[0].segment].kind == SegmentKind::kPacked, among_small) << size;
  }
}

// Small files have one mebibyte of payload at most; the packed segment with the description takes one unit of it.
TEST(Plan, AFileOfOneMebibyteIsSmallAndALargerOneIsNot) {
  constexpr std::uint64_t kUnit = std::uint64_t{1} << kSmallExtentLog2;
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 20) - kUnit;
  EXPECT_EQ(planned({sized("m", kMost)}).value().extent_log2, kSmallExtentLog2);
  EXPECT_EQ(planned({sized("m", kMost + 1)}).value().extent_log2, kExtentLog2);
}

// Zeros that know whether they were read after they were closed last.
class Closing final : public ByteSource {
 public:
  [[nodiscard]] std::string name() const override { return "closing"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return 9'000; }
  [[nodiscard]] Status read_at(std::uint64_t, std::span<std::byte> out) const override {
    open_ = true;
    std::fill(out.begin(), out.end(), std::byte{0});
    return Done{};
  }
  void close() const noexcept override { open_ = false; }
  [[nodiscard]] bool is_open() const noexcept { return open_; }

 private:
  mutable bool open_ = false;
};

// There may be more inputs than a process may have descriptors.
TEST(Plan, AnInputIsClosedWhenItsFrameIsMeasured) {
  const auto source = std::make_shared<const Closing>();
  PackRecord record = with_variant(support::plain_record(RecordType::kSourceModel, "m", {}));
  record.source.source = source;
  record.codec = Codec::kLz4;
  const auto plan = planned({std::move(record)});
  ASSERT_TRUE(is_ok(plan));
  EXPECT_EQ(plan.value().records[0].codec, Codec::kLz4) << "it was read";
  EXPECT_FALSE(source->is_open());
}

TEST(Plan, KeepsNoNamesOfRanges) {
  PackRecord record = with_variant(support::plain_record(RecordType::kSourceModel, "m", support::pattern(100, 1)));
  record.ranges = {{"a", 0, 40}, {"b", 50, 50}};
  const auto plan = planned({std::move(record)});
  ASSERT_TRUE(is_ok(plan));
  EXPECT_EQ(plan.value().records[0].parts.size(), 2U);
  EXPECT_TRUE(plan.value().records[0].record.ranges.empty());
}

TEST(Plan, TheKeyOfARecordHasEveryWordOfIt) {
  PackRecord record = support::binary_record("binary", "v75", {});
  record.key = every_word_of_a_key();
  const std::string features = canonical_features(record.key.features);
  const SelectionKey key = key_of(record, features);
  EXPECT_EQ(target_text(key), "htp SM8650 soc 57 v75+dual+fp16 vtcm 8 sdk 2.31.5.250130 variant generic");
  EXPECT_EQ(key.type, RecordType::kContextBinary);
  EXPECT_EQ(key.group, "group");
  EXPECT_EQ(key.unit, "unit");
  EXPECT_EQ(key.api, (Version{2, 7, 1, 4}));
  EXPECT_EQ(key.blob, (Version{3, 2, 9, 6}));
}

// The type of the description puts it between other records; it names some in front of it and some behind it.
TEST(Plan, ADescriptionNamesTheRecordsThatItIsAbout) {
  std::vector<PackRecord> records = {support::binary_record("b", "v73", support::pattern(300, 1)),
                                     support::binary_record("c", "v75", support::pattern(300, 2)),
                                     support::plain_record(RecordType::kOpaque, "x", support::pattern(300, 3)),
                                     support::plain_record(RecordType::kOpaque, "y", support::pattern(300, 4))};
  for (PackRecord& record : records) record.description.producer = "maker of " + record.name;
  const Opened opened(support::packed_bytes(std::move(records)));
  const Bytes bytes = opened.bytes_of("description").value();
  const auto description = decode_description(bytes);
  ASSERT_TRUE(is_ok(description));
  ASSERT_EQ(description.value().records.size(), 4U);
  for (const RecordDescription& said : description.value().records) {
    const RecordInfo* record = opened.toc.toc.find(said.record_id);
    ASSERT_NE(record, nullptr) << said.producer;
    EXPECT_EQ(said.producer, "maker of " + std::string(record->name));
  }
}

TEST(Plan, PiecesOfARecordAreLimitedToWhatTheFormatAllows) {
  const support::TempDir folder;
  const auto with_pieces = [&](std::uint32_t pieces) {
    PackOptions options;
    options.max_pieces = pieces;
    options.overwrite = true;
    return support::pack(support::mixed_records(), folder.file("m.fatctx"), options);
  };
  EXPECT_TRUE(fails_with(with_pieces(0), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(is_ok(with_pieces(1)));
  EXPECT_TRUE(is_ok(with_pieces(65'536)));
  const auto refused = with_pieces(65'537);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kInvalidArgument));
  EXPECT_EQ(refused.error().message, "max_pieces is 65537; allowed: 1 to 65536");
}

}  // namespace plan_test
}  // namespace fatctx::container
