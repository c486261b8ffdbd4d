// A container with a large table of contents: opens read its head, calls read the rows they need and return their
// errors. Shows S1.7, S5.1.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/metrics.h"
#include "fatctx/model.h"
#include "support/pattern.h"
#include "support/rehash.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace large_table_test {

using support::Bytes;
using support::is_error;
using support::is_ok;

constexpr std::uint32_t kRecords = 500;

std::vector<PackRecord> many() {
  std::vector<PackRecord> records;
  for (std::uint32_t i = 0; i < kRecords; ++i) {
    PackRecord record =
        support::binary_record("binary " + std::to_string(i), "x86-64-v3", support::pattern(3'000 + i, i));
    record.key.unit = "unit " + std::to_string(i);
    records.push_back(std::move(record));
  }
  PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(150'000, 7));
  weights.tensors = {{.name = "w", .dtype = DType::kF32, .shape = {25}, .offset_in_blob = 64, .size_bytes = 100}};
  records.push_back(std::move(weights));
  return records;
}

const Bytes& sample() {
  static const Bytes bytes = support::packed_bytes(many());
  return bytes;
}

struct LargeTable : ::testing::Test {
  void write(const Bytes& bytes) { support::write_file(path, bytes); }
  // Breaks the row of a record, in both copies, with right hashes: its bytes are said to be elsewhere.
  Bytes with_a_bad_row(std::uint32_t index) {
    Bytes bytes = sample();
    auto slot = support::struct_at<container::Slot>(bytes, container::kLargeForm.slots[0]);
    for (const std::uint64_t at : {std::uint64_t{slot.toc_offset[0]}, std::uint64_t{slot.toc_offset[1]}}) {
      const auto rows = support::struct_at<container::DirectoryEntry>(
          bytes, at + sizeof(container::TocHeader) +
                     static_cast<std::uint64_t>(container::Table::kRecords) * sizeof(container::DirectoryEntry));
      const std::uint64_t row = at + rows.offset + index * sizeof(container::RecordEntry);
      auto entry = support::struct_at<container::RecordEntry>(bytes, row);
      entry.stored_size = entry.stored_size + 1;
      entry.logical_size = entry.logical_size + 1;
      support::put_struct(bytes, row, entry);
    }
    support::rehash_toc(bytes);
    return bytes;
  }

  support::TempDir folder;
  std::string path = folder.file("large.fatctx");
};

TEST_F(LargeTable, HandsOutRecordsAndTensorsAsASmallOneDoes) {
  write(sample());
  const auto opened = Container::open(path);
  ASSERT_TRUE(is_ok(opened));
  const Container& container = opened.value();
  EXPECT_EQ(container.record_count(), kRecords + 3) << "the weights, their table, the description";
  const auto view = container.acquire("binary 321");
  ASSERT_TRUE(is_ok(view));
  EXPECT_TRUE(std::ranges::equal(view.value().bytes(), support::pattern(3'321, 321)));
  const auto found = container.find("binary 7");
  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value().key.unit, "unit 7");
  EXPECT_EQ(container.record(found.value().id).value().name, "binary 7");
  const std::uint32_t weights = container.find("weights").value().id;
  const auto tensor = container.tensor(weights, "w");
  ASSERT_TRUE(is_ok(tensor));
  const auto whole_blob = container.tensors(weights);
  ASSERT_TRUE(is_ok(whole_blob));
  const auto same = whole_blob.value().view("w");
  ASSERT_TRUE(is_ok(same));
  EXPECT_EQ(same.value().bytes().data(), tensor.value().bytes().data());
  EXPECT_EQ(container_metrics(container).records.size(), 4U) << "those that were asked for, and the table";

  const auto records = container.records();
  ASSERT_TRUE(is_ok(records));
  EXPECT_EQ(records.value().size(), container.record_count());
  EXPECT_EQ(container_metrics(container).records.size(), container.record_count());
  EXPECT_TRUE(std::ranges::equal(view.value().bytes(), support::pattern(3'321, 321))) << "views stay";
  EXPECT_TRUE(is_ok(container.report()));
  EXPECT_TRUE(is_ok(container.verify()));
}

TEST_F(LargeTable, OfWhichOneRowIsBadStillHandsOutTheOthers) {
  write(with_a_bad_row(100));
  const auto opened = Container::open(path);
  ASSERT_TRUE(is_ok(opened)) << "an open reads the head only";
  const Container& container = opened.value();

  EXPECT_TRUE(is_ok(container.acquire(99)));
  for (int again = 0; again < 2; ++again) {
    const auto bad = container.acquire(101);
    ASSERT_TRUE(is_error(bad.error(), ErrorCode::kMalformed, "F38"));
    EXPECT_EQ(bad.error().where.record_id, 101U);
    EXPECT_TRUE(bad.error().message.starts_with(path)) << bad.error().message;
    EXPECT_TRUE(is_error(container.record(101).error(), ErrorCode::kMalformed, "F38"));
    EXPECT_TRUE(is_error(container.records().error(), ErrorCode::kMalformed, "F38"));
    EXPECT_TRUE(is_error(container.report().error(), ErrorCode::kMalformed, "F38"));
    EXPECT_TRUE(is_error(container.candidates().error(), ErrorCode::kMalformed, "F38"));
    EXPECT_TRUE(is_error(container.describe().error(), ErrorCode::kMalformed, "F38"));
    EXPECT_TRUE(
        is_error(container.select(device_from_text("x86-64-v3").value()).error(), ErrorCode::kMalformed, "F38"));
  }
  EXPECT_TRUE(is_ok(container.acquire(102)));
  const auto model = Model::open(path);
  EXPECT_TRUE(is_error(model.error(), ErrorCode::kMalformed, "F38"));
  const auto verified = container.verify();
  ASSERT_TRUE(is_ok(verified));
  EXPECT_TRUE(is_error(verified.value().findings.at(0).error, ErrorCode::kMalformed, "F38"));
}

TEST_F(LargeTable, IsCheckedWholeByAStrictOpenAlsoIfItIsMappedAlready) {
  write(with_a_bad_row(100));
  EXPECT_TRUE(is_error(Container::open(path, {.strict = true}).error(), ErrorCode::kMalformed, "F38"));
  const auto first = Container::open(path);
  ASSERT_TRUE(is_ok(first));
  EXPECT_TRUE(is_error(Container::open(path, {.strict = true}).error(), ErrorCode::kMalformed, "F38"));
  write(sample());
  const auto strict = Container::open(path, {.strict = true});
  ASSERT_TRUE(is_ok(strict));
  EXPECT_EQ(container_metrics(strict.value()).records.size(), strict.value().record_count());
}

// A system that cannot map files.
class NoMapping final : public MappingProvider {
 public:
  std::string_view name() const noexcept override { return "no mapping"; }
  Result<ByteView> map(int, std::uint64_t, std::uint64_t) override {
    return Error{ErrorCode::kUnsupported, "not here"};
  }
  void unmap(ByteView) noexcept override {}
};

TEST_F(LargeTable, ThatHasToBeMappedAndCannotBeNamesAllBytesOrWhatIsWrongWithTheTable) {
  OpenOptions options;
  options.file_mapping = FileMapping::kRequire;
  options.mapping_provider = std::make_shared<NoMapping>();
  std::uint64_t all = 150'000;
  for (std::uint32_t i = 0; i < kRecords; ++i) all += 3'000 + i;

  write(sample());
  const auto refused = Container::open(path, options);
  write(with_a_bad_row(100));
  const auto bad = Container::open(path, options);

  ASSERT_TRUE(is_error(refused.error(), ErrorCode::kCopyNotAllowed, ""));
  EXPECT_NE(refused.error().message.find("the used part of " + std::to_string(all) + " bytes"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(is_error(bad.error(), ErrorCode::kMalformed, "F38"));
}

TEST_F(LargeTable, ThatWasWrittenOverSaysSoAndNotThatItIsDamaged) {
  write(sample());
  const auto opened = Container::open(path);
  ASSERT_TRUE(is_ok(opened));
  Bytes other = sample();
  std::fill(other.begin() + 0x400, other.end(), std::byte{0x5a});
  // In place: the file keeps its inode.
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .write(reinterpret_cast<const char*>(other.data()), static_cast<std::streamsize>(other.size()));
  EXPECT_EQ(opened.value().records().error().code, ErrorCode::kChanged);
  EXPECT_EQ(opened.value().find("binary 3").error().code, ErrorCode::kChanged);
}

TEST_F(LargeTable, StaysReadableWhileOthersAppend) {
  write(sample());
  const auto opened = Container::open(path);
  ASSERT_TRUE(is_ok(opened));
  {
    auto appender = Appender::open(path);
    ASSERT_TRUE(is_ok(appender));
    ASSERT_TRUE(
        is_ok(appender.value().add(support::plain_record(RecordType::kOpaque, "late", support::pattern(9, 9)))));
    ASSERT_TRUE(is_ok(appender.value().commit()));
  }
  EXPECT_TRUE(is_ok(opened.value().acquire("binary 250")));
  EXPECT_EQ(opened.value().find("late").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(opened.value().records().value().size(), kRecords + 3);
  EXPECT_EQ(opened.value().reopen().value().record_count(), kRecords + 4);
}

}  // namespace large_table_test
}  // namespace fatctx
