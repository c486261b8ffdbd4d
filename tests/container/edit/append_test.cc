// The outcome of an append: the generation before and the new one, both whole.
#include "fatctx/appender.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "container/check/verify.h"
#include "container/read/opened_file.h"
#include "fatctx/base/checked.h"
#include "support/appended.h"
#include "support/large_form.h"
#include "support/result_matchers.h"
#include "support/sanitized.h"

namespace fatctx::container {
namespace append_test {

using support::append;
using support::Appended;
using support::Bytes;
using support::fails_with;
using support::is_ok;

std::vector<std::string> names_of(const Opened& opened) {
  std::vector<std::string> names;
  for (const RecordInfo& record : opened.toc.toc.records) names.emplace_back(record.name);
  std::sort(names.begin(), names.end());
  return names;
}

void expect_clean(Bytes bytes) {
  const support::MemoryFile file(std::move(bytes));
  const auto report = verify_container(file, {});
  ASSERT_TRUE(is_ok(report));
  for (const VerifyFinding& finding : report.value().findings) ADD_FAILURE() << to_text(finding.error);
}

PackRecord new_binary(const std::string& name = "cpu-riscv", std::size_t size = 5'000) {
  PackRecord record = support::binary_record(name, name.substr(4), support::pattern(size, 99));
  record.weights = {"weights"};
  record.description.producer = "compiler 2.0";
  return record;
}

TEST(Append, ANewBinaryIsThereAndEverythingElseStays) {
  const Bytes before = support::unsealed_sample();
  const Appended done = append(before, {new_binary()});

  ASSERT_TRUE(is_ok(done.report));
  const AppendReport& report = done.report.value();
  EXPECT_EQ(report.generation, 2U);
  EXPECT_EQ(report.file_size_before, before.size());
  EXPECT_EQ(report.file_size, done.bytes.size());
  EXPECT_TRUE(std::equal(before.begin() + kHeaderSize, before.end(), done.bytes.begin() + kHeaderSize))
      << "no byte behind the header is written again";

  const Opened old(before);
  const Opened opened(done.bytes);
  EXPECT_EQ(opened.toc.header.generation, 2U);
  EXPECT_EQ(opened.toc.header.degraded, 0U);
  EXPECT_EQ(opened.toc.header.uuid, old.toc.header.uuid);
  std::vector<std::string> names = names_of(old);
  names.emplace_back("cpu-riscv");
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names_of(opened), names);
  for (const RecordInfo& record : old.toc.toc.records) {
    if (record.type == RecordType::kDescription) continue;
    const RecordInfo& now = opened.record(record.name);
    EXPECT_EQ(now.id, record.id);
    EXPECT_EQ(opened.bytes_of(record.name).value(), old.bytes_of(record.name).value());
  }
  const RecordInfo& added = opened.record("cpu-riscv");
  EXPECT_EQ(added.id, 8U);
  EXPECT_EQ(std::vector<std::uint32_t>(added.weights.begin(), added.weights.end()), std::vector<std::uint32_t>{5});
  EXPECT_EQ(opened.bytes_of("cpu-riscv").value(), support::pattern(5'000, 99));
  expect_clean(done.bytes);
}

TEST(Append, ManyGenerationsFollowEachOther) {
  Bytes bytes = support::unsealed_sample();
  for (int i = 0; i < 20; ++i) {
    Appended done =
        append(std::move(bytes), {new_binary("cpu-" + std::to_string(i), 100'000 + 7'777U * static_cast<unsigned>(i))});
    ASSERT_TRUE(is_ok(done.report)) << i;
    EXPECT_EQ(done.report.value().generation, 2U + static_cast<unsigned>(i));
    bytes = std::move(done.bytes);
  }
  const Opened opened(bytes);
  EXPECT_EQ(opened.toc.header.generation, 21U);
  EXPECT_EQ(opened.toc.toc.records.size(), 27U);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(is_ok(opened.bytes_of("cpu-" + std::to_string(i))));
  expect_clean(bytes);
}

TEST(Append, AsManyGenerationsAsTheTableTakesAndNoMore) {
  if (support::kSanitized) GTEST_SKIP() << "1,024 appends take minutes under a sanitizer; the release build makes them";
  Bytes bytes = support::packed_bytes({support::plain_record(RecordType::kOpaque, "first", support::pattern(10, 1))});
  const auto one_more = [&](std::uint64_t number) {
    return append(std::move(bytes), {support::plain_record(RecordType::kOpaque, "r" + std::to_string(number), {})});
  };
  for (std::uint64_t number = 1; number <= kMaxGenerations; ++number) {
    Appended done = one_more(number);
    ASSERT_TRUE(is_ok(done.report)) << number;
    bytes = std::move(done.bytes);
  }
  const Opened full(bytes);
  EXPECT_EQ(full.toc.toc.generations.size(), kMaxGenerations);
  const std::size_t size_before = bytes.size();
  const Appended refused = one_more(kMaxGenerations + 1);
  ASSERT_TRUE(fails_with(refused.report, ErrorCode::kLimitExceeded));
  EXPECT_NE(refused.report.error().message.find("fatctx compact"), std::string::npos);
  EXPECT_EQ(refused.bytes.size(), size_before);
}

TEST(Append, WhatTheFileHasIsNotStoredAgain) {
  PackRecord again = support::plain_record(RecordType::kOpaque, "again", support::pattern(70'001, 21));
  again.key.variant = "another";
  const Bytes before = support::packed_bytes(support::mixed_records());
  const Appended done = append(before, {std::move(again)});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(done.report.value().shared_bytes, 70'001U);
  const Opened opened(done.bytes);
  EXPECT_EQ(opened.record("again").file_offset, opened.record("large").file_offset);
  EXPECT_EQ(opened.bytes_of("again").value(), support::pattern(70'001, 21));
  expect_clean(done.bytes);
}

TEST(Append, RunsOfLeavesThatTheFileHasAreSlicesOfIt) {
  // 20 leaves; the new record has 4 of its own, 8 of the old one's, 4 more, and an end that no leaf covers.
  const Bytes old = support::pattern(20 * kLeafSize, 5);
  const Bytes own = support::pattern(8 * kLeafSize + 1'234, 6);
  Bytes fresh(own.begin(), own.begin() + 4 * kLeafSize);
  fresh.insert(fresh.end(), old.begin() + 8 * kLeafSize, old.begin() + 16 * kLeafSize);
  fresh.insert(fresh.end(), own.begin() + 4 * kLeafSize, own.end());
  const Appended done = append(support::packed_bytes({support::binary_record("a", "v73", old)}),
                               {support::binary_record("b", "v75", fresh)});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(done.report.value().shared_bytes, 8 * kLeafSize);
  const Opened opened(done.bytes);
  EXPECT_EQ(opened.record("b").slice_count, 3U);
  EXPECT_EQ(opened.bytes_of("b").value(), fresh);
  expect_clean(done.bytes);
}

TEST(Append, NewRecordsShareLeavesWithEachOther) {
  Bytes one = support::pattern(10 * kLeafSize, 5);
  Bytes two = one;
  two[0] = ~two[0];
  const Appended done = append(support::unsealed_sample(),
                               {support::binary_record("a", "v73", one), support::binary_record("b", "v75", two)});
  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(done.report.value().shared_bytes, 9 * kLeafSize);
  EXPECT_EQ(Opened(done.bytes).bytes_of("b").value(), two);
  expect_clean(done.bytes);
}

// The size of the file is read before the append, its header after it.
TEST(Append, AFileThatGrowsBetweenTwoLooksOpensAndOneThatWasCutDoesNot) {
  const Bytes before = support::unsealed_sample();
  support::MemoryFile file(append(before, {new_binary()}).bytes);
  mapping::FileIdentity identity = file.identity().value();
  identity.size = before.size();
  const auto grown = read_growing(file, identity, 0);
  ASSERT_TRUE(is_ok(grown));
  EXPECT_EQ(grown.value().header.generation, 2U);
  EXPECT_EQ(identity.size, file.bytes().size());

  file.show_only(before.size());
  identity.size = before.size();
  EXPECT_TRUE(fails_with(read_growing(file, identity, 0), ErrorCode::kTruncated, "F10"));
}

// A file whose reader is so slow that each header page comes from another commit. The first `slow` reads of the header
// give pages of the generations in `pages`, all other reads the newest one.
class StalledReads final : public mapping::OsFile {
 public:
  StalledReads(std::vector<Bytes> generations, std::vector<std::size_t> pages, std::uint64_t slow)
      : generations_(std::move(generations)), pages_(std::move(pages)), slow_(slow) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    const Bytes& newest = generations_.back();
    if (!within({offset, buffer.size()}, newest.size())) return Error{ErrorCode::kTruncated, "the file ends too early"};
    std::copy_n(newest.begin() + static_cast<std::ptrdiff_t>(offset), buffer.size(), buffer.begin());
    if (offset == 0) ++header_reads_;  // the other sectors follow
    if (header_reads_ > slow_) return Done{};
    for (std::size_t slot = 0; slot < kSlotOffsets.size(); ++slot) {
      const ByteRange sector{kSlotOffsets.at(slot), kSectorSize};
      if (sector.offset < offset || !within({sector.offset - offset, sector.size}, buffer.size())) continue;
      std::copy_n(generations_.at(pages_.at(slot)).begin() + static_cast<std::ptrdiff_t>(sector.offset), sector.size,
                  buffer.begin() + static_cast<std::ptrdiff_t>(sector.offset - offset));
    }
    if (changes_with_each_read_ && within({kSlotOffsets[0] - offset, 1}, buffer.size())) {
      buffer[static_cast<std::size_t>(kSlotOffsets[0] - offset)] ^= static_cast<std::byte>(header_reads_);
    }
    return Done{};
  }
  Result<mapping::FileIdentity> identity() const override {
    mapping::FileIdentity identity;
    identity.size = generations_.back().size();
    identity.regular = true;
    return identity;
  }
  Status write_at(std::uint64_t, ByteView) override { return Error{ErrorCode::kIo, "only read"}; }
  Status allocate(std::uint64_t) override { return Error{ErrorCode::kIo, "only read"}; }
  Status sync() override { return Error{ErrorCode::kIo, "only read"}; }
  int descriptor() const noexcept override { return -1; }

  void change_with_each_read() noexcept { changes_with_each_read_ = true; }
  [[nodiscard]] std::uint64_t header_reads() const noexcept { return header_reads_; }

 private:
  std::vector<Bytes> generations_;
  std::vector<std::size_t> pages_;
  std::uint64_t slow_;
  bool changes_with_each_read_ = false;
  mutable std::uint64_t header_reads_ = 0;
};

std::vector<Bytes> five_generations() {
  std::vector<Bytes> generations = {support::unsealed_sample()};
  for (int i = 0; i < 4; ++i) {
    generations.push_back(append(generations.back(), {new_binary("cpu-" + std::to_string(i))}).bytes);
  }
  return generations;
}

TEST(Append, AReaderThatIsStalledOverSeveralCommitsOpensTheNewestGeneration) {
  const std::vector<Bytes> generations = five_generations();
  // Every order in which four pages can be read during four commits.
  for (std::size_t code = 0; code < 625; ++code) {
    const std::vector<std::size_t> pages = {code / 125, code / 25 % 5, code / 5 % 5, code % 5};
    if (!std::is_sorted(pages.begin(), pages.end())) continue;
    const StalledReads file(generations, pages, 1);
    mapping::FileIdentity identity = file.identity().value();
    const auto opened = read_growing(file, identity, 0);
    ASSERT_TRUE(is_ok(opened)) << code;
    EXPECT_GE(opened.value().header.generation, pages.front() + 1);

    const StalledReads header_of(generations, pages, 1);
    EXPECT_TRUE(is_ok(read_growing_header(header_of, identity))) << code;
  }
}

TEST(Append, ABrokenFileIsRefusedAtOnceAndOneThatChangesForEverAfterAWhile) {
  Bytes broken = support::unsealed_sample();
  for (const std::uint64_t slot : kSlotOffsets) broken[slot] = ~broken[slot];
  const StalledReads still({broken}, {0, 0, 0, 0}, 100);
  mapping::FileIdentity identity = still.identity().value();
  EXPECT_FALSE(read_growing(still, identity, 0).ok());
  EXPECT_EQ(still.header_reads(), 2U) << "one to read it, one to see that it stays as it is";

  StalledReads restless({broken}, {0, 0, 0, 0}, 100);
  restless.change_with_each_read();
  EXPECT_FALSE(read_growing(restless, identity, 0).ok());
  EXPECT_GT(restless.header_reads(), 2U);
  EXPECT_LT(restless.header_reads(), 40U);
}

TEST(Append, TheSameKeyIsThereAndNothingIsWritten) {
  const Bytes before = support::unsealed_sample();
  const Appended done = append(before, {support::binary_record("other name", "x86-64-v3", support::pattern(10, 1))});
  EXPECT_TRUE(fails_with(done.report, ErrorCode::kExists));
  EXPECT_EQ(done.bytes, before);
}

// Each part is within the limits, but the sum is not.
TEST(Append, WhatReadersWouldRefuseIsNotCommitted) {
  std::vector<PackRecord> many;
  for (std::uint64_t i = 0; i + 3 < kMaxRecords; ++i) {
    many.push_back(support::plain_record(RecordType::kOpaque, "r" + std::to_string(i), {}));
  }
  const Bytes before = support::packed_bytes(std::move(many));
  std::vector<PackRecord> more;
  for (std::uint32_t i = 0; i < 3; ++i) {
    more.push_back(support::plain_record(RecordType::kOpaque, "m" + std::to_string(i), support::pattern(100, i)));
  }
  const Appended refused = append(before, more);
  ASSERT_FALSE(refused.report.ok());
  EXPECT_EQ(refused.report.error().code, ErrorCode::kLimitExceeded) << to_text(refused.report.error());
  ASSERT_GE(refused.bytes.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), refused.bytes.begin()));
  more.pop_back();
  EXPECT_TRUE(is_ok(append(before, std::move(more)).report)) << "the last that fit";
}

TEST(Append, ReplacingLeavesTheOldRecordInItsGeneration) {
  const Bytes before = support::unsealed_sample();
  PackRecord record = support::binary_record("cpu-x86-64-v3", "x86-64-v3", support::pattern(4'321, 77));
  record.weights = {"weights"};
  const Appended done = append(before, {std::move(record)}, {.replace = true});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(done.report.value().superseded, std::vector<std::string>{"cpu-x86-64-v3"});
  const Opened opened(done.bytes);
  EXPECT_EQ(opened.bytes_of("cpu-x86-64-v3").value(), support::pattern(4'321, 77));
  EXPECT_EQ(names_of(opened), names_of(Opened(before)));
  EXPECT_GT(done.report.value().dead_bytes, 300U);
  expect_clean(done.bytes);
}

TEST(Append, ARecordTakesNothingFromTheOneThatItReplaces) {
  const Bytes same = support::pattern(100'000, 7);
  const Bytes before = support::packed_bytes({support::binary_record("a", "v73", same)});
  for (const auto& [name, replace, shared] : {std::tuple{"b", false, 100'000U}, {"a", true, 0U}}) {
    const Appended done =
        append(before, {support::binary_record(name, replace ? "v73" : "v75", same)}, {.replace = replace});
    ASSERT_TRUE(is_ok(done.report));
    EXPECT_EQ(done.report.value().shared_bytes, shared);
    expect_clean(done.bytes);
  }
}

TEST(Append, WeightsCannotBeReplacedUnderABinary) {
  PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(1'000, 3));
  weights.key.group = "model";
  const Appended done = append(support::unsealed_sample(), {std::move(weights)}, {.replace = true});
  EXPECT_TRUE(fails_with(done.report, ErrorCode::kBadReference, "F27"));
  EXPECT_EQ(done.bytes, support::unsealed_sample());
}

// Appends a generation without the records of these names.
Appended leave_out(Bytes file, const std::vector<std::string>& names) {
  const Opened opened(file);
  auto memory = std::make_unique<support::MemoryFile>(std::move(file));
  support::MemoryFile& kept = *memory;
  Appender appender = appender_over(std::move(memory), "m.fatctx", {}).value();
  for (const std::string& name : names) {
    EXPECT_TRUE(is_ok(leave_out(appender, opened.record(name).id, name)));
    EXPECT_TRUE(fails_with(leave_out(appender, opened.record(name).id, "other"), ErrorCode::kNotFound));
  }
  auto report = appender.commit();
  return {std::move(report), std::move(kept.bytes())};
}

TEST(Append, WhatIsTakenBackIsInNoRowAndMayComeAgain) {
  const Bytes before = support::unsealed_sample();
  const Appended done = append(before, {new_binary()});
  ASSERT_TRUE(is_ok(done.report));
  const Appended back = leave_out(done.bytes, {"cpu-riscv"});
  ASSERT_TRUE(is_ok(back.report));
  EXPECT_EQ(back.report.value().generation, 3U);
  EXPECT_GE(back.report.value().dead_bytes, 5'000U);
  EXPECT_LE(back.bytes.size(), done.bytes.size() + 6 * (std::size_t{1} << kExtentLog2))
      << "nothing but a table and a description";
  const Opened opened(back.bytes);
  EXPECT_EQ(names_of(opened), names_of(Opened(before)));
  expect_clean(back.bytes);
  const Appended again = append(back.bytes, {new_binary()});
  ASSERT_TRUE(is_ok(again.report));
  EXPECT_EQ(Opened(again.bytes).bytes_of("cpu-riscv").value(), support::pattern(5'000, 99));
  expect_clean(again.bytes);
}

TEST(Append, WhatOthersNeedIsNotTakenBack) {
  const Appended back = leave_out(support::unsealed_sample(), {"weights"});
  EXPECT_TRUE(fails_with(back.report, ErrorCode::kBadReference, "F27"));
  EXPECT_EQ(back.bytes, support::unsealed_sample());
}

TEST(Append, ASealedFileIsRefusedWithTheRemedy) {
  const Appended done = append(support::sealed_sample(), {new_binary()});
  ASSERT_TRUE(fails_with(done.report, ErrorCode::kOperationNotPermitted));
  EXPECT_NE(done.report.error().message.find("compact"), std::string::npos);
}

TEST(Append, ATailOfACrashIsSkippedAndDead) {
  Bytes before = support::unsealed_sample();
  const std::size_t end = before.size();
  before.resize(end + 100'000, std::byte{0x5a});
  const Appended done = append(before, {new_binary()});
  ASSERT_TRUE(is_ok(done.report));
  const auto extent = static_cast<std::ptrdiff_t>(*checked_align_up(end, kExtentLog2));
  EXPECT_TRUE(std::equal(before.begin() + extent, before.end(), done.bytes.begin() + extent))
      << "bytes that a torn slot might name are left as they are";
  EXPECT_TRUE(is_ok(Opened(done.bytes).bytes_of("cpu-riscv")));
  expect_clean(done.bytes);
}

TEST(Append, WithLargeExtentsItFitsTheFile) {
  PackOptions options;
  options.extent_log2 = 21;
  Bytes bytes = support::packed_bytes(support::cpu_records(), options);
  for (const char* name : {"cpu-a", "cpu-b"}) {
    Appended done = append(std::move(bytes), {new_binary(name)});
    ASSERT_TRUE(is_ok(done.report));
    bytes = std::move(done.bytes);
    expect_clean(bytes);
  }
  bytes.resize(bytes.size() + 100'000, std::byte{0x5a});
  const Appended behind_a_tail = append(std::move(bytes), {new_binary("cpu-c")});
  ASSERT_TRUE(is_ok(behind_a_tail.report));
  expect_clean(behind_a_tail.bytes);
  // The skipped tail is dead up to the first new byte, which has the file's alignment (docs/format.md, 13.2).
  const Opened opened(behind_a_tail.bytes);
  const auto& segments = opened.toc.toc.segments;
  const auto is_new = [&](const Segment& one) { return one.generation == opened.toc.header.generation; };
  const auto tail = std::find_if(segments.begin(), segments.end(), is_new);
  ASSERT_EQ(tail->kind, SegmentKind::kDead);
  EXPECT_EQ((tail->offset + tail->size) % (std::uint64_t{1} << 21), 0U);
  EXPECT_EQ(tail->offset + tail->size, (tail + 1)->offset);
}

TEST(Append, AHeaderThatIsDamagedMeanwhileIsNotCommittedTo) {
  const Bytes before = support::unsealed_sample();
  auto memory = std::make_unique<support::MemoryFile>(before);
  support::MemoryFile& kept = *memory;
  AppendOptions options;
  options.progress = [&](std::uint64_t, std::uint64_t) {
    for (const std::uint64_t offset : kPrologueOffsets)
      kept.bytes()[static_cast<std::size_t>(offset) + 100] = std::byte{1};
  };
  Appender appender = appender_over(std::move(memory), "m.fatctx", options).value();
  ASSERT_TRUE(is_ok(appender.add(new_binary())));
  const auto refused = appender.commit();
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch, "F2"));
  EXPECT_NE(refused.error().message.find("would not open"), std::string::npos) << refused.error().message;
  for (const std::uint64_t offset : kSlotOffsets) {
    const auto at = static_cast<std::ptrdiff_t>(offset);
    EXPECT_TRUE(std::equal(before.begin() + at, before.begin() + at + kSectorSize, kept.bytes().begin() + at));
  }
}

TEST(Append, RoomIsReservedBeforeAnythingIsWrittenBehindTheEnd) {
  const Bytes before = support::unsealed_sample();
  const Appended done = support::append_with(before, {new_binary()}, {}, [](support::MemoryFile& file) {
    file.fail(support::FileCall::kAllocate, 0, false, ErrorCode::kNoSpace);
  });
  EXPECT_TRUE(fails_with(done.report, ErrorCode::kNoSpace));
  EXPECT_EQ(done.bytes, before);
}

}  // namespace append_test
}  // namespace fatctx::container
