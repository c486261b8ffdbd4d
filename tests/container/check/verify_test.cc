// Verification on threads, of ranges, and as for delivery.
#include "container/check/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "container/read/opened_file.h"
#include "mapping/buffer_file.h"
#include "support/appended.h"
#include "support/large_form.h"
#include "support/recipe_file.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace verify_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> texts_of(const Result<VerifyReport>& report) {
  std::vector<std::string> texts;
  for (const VerifyFinding& finding : report.value().findings) texts.push_back(to_text(finding.error));
  return texts;
}

// Returns a file of small and large segments, whole records and slices, with leaves that tests can damage.
const Bytes& large_sample() {
  static const Bytes bytes = [] {
    std::vector<PackRecord> records = support::cpu_records();
    for (std::uint32_t i = 0; i < 3; ++i) {
      records.push_back(support::plain_record(RecordType::kOpaque, "opaque" + std::to_string(i),
                                              support::pattern((std::size_t{18} << 20) + i * 777, 70 + i)));
    }
    return support::packed_bytes(std::move(records));
  }();
  return bytes;
}

Result<VerifyReport> verified(const Bytes& bytes, const VerifyOptions& options) {
  return verify_container(mapping::BufferFile(bytes, nullptr), options);
}

TEST(Verify, FindingsAndBytesAreTheSameForAnyNumberOfThreads) {
  Bytes damaged = large_sample();
  const Opened opened(damaged);
  for (const Segment& segment : opened.toc.toc.segments) {
    for (std::uint64_t at = 3; at < segment.size; at += segment.size / 5 + 1) {
      damaged[static_cast<std::size_t>(segment.offset + at)] ^= std::byte{0x10};
    }
  }
  for (const std::uint64_t offset : {kPrologueOffsets[1], kSlotOffsets[2], opened.toc.header.toc_offset[1]}) {
    damaged[static_cast<std::size_t>(offset) + 50] ^= std::byte{1};
  }
  for (const Bytes& bytes : {large_sample(), damaged}) {
    const auto one = verified(bytes, {.threads = 1});
    ASSERT_TRUE(is_ok(one));
    EXPECT_EQ(texts_of(one).empty(), bytes == large_sample());
    for (const std::uint32_t threads : {2U, 3U, 8U, 0U}) {
      const auto many = verified(bytes, {.threads = threads});
      ASSERT_TRUE(is_ok(many));
      EXPECT_EQ(texts_of(many), texts_of(one)) << threads;
      EXPECT_EQ(many.value().checked_bytes, one.value().checked_bytes) << threads;
    }
  }
}

TEST(Verify, ProgressIsToldOnTheCallingThreadAndEndsAtItsTotal) {
  const std::thread::id caller = std::this_thread::get_id();
  std::uint64_t last = 0;
  std::uint64_t last_total = 0;
  std::uint64_t calls = 0;
  const auto told = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_GE(done, last);
    last = done;
    last_total = total;
    ++calls;
  };
  const auto report = verified(large_sample(), {.threads = 4, .progress = told});
  ASSERT_TRUE(is_ok(report));
  EXPECT_GE(calls, 1U);
  EXPECT_EQ(last_total, report.value().checked_bytes);
  EXPECT_LE(last, last_total);
}

TEST(Verify, WhatProgressThrowsStopsAllThreadsAndComesOut) {
  struct Stop {};
  for (const std::uint32_t threads : {1U, 4U}) {
    std::uint64_t seen = 0;
    const auto stop = [&](std::uint64_t done, std::uint64_t) {
      seen = done;
      throw Stop{};  // at the first call, because fast threads may finish before the second
    };
    EXPECT_THROW((void)verified(large_sample(), {.threads = threads, .progress = stop}), Stop) << threads;
    EXPECT_LT(seen, large_sample().size()) << threads;
  }
}

TEST(Verify, ARangeOfTheFileChecksTheLeavesThatCoverIt) {
  const Opened opened(large_sample());
  const RecordInfo& record = opened.record("opaque1");
  Bytes damaged = large_sample();
  damaged[static_cast<std::size_t>(record.file_offset + 5 * kLeafSize + 9)] ^= std::byte{1};

  const auto leaf = [&](std::uint64_t first, std::uint64_t size) {
    return verified(damaged, {.range = ByteRange{record.file_offset + first, size}});
  };
  EXPECT_THAT(texts_of(leaf(5 * kLeafSize, 1)), ElementsAre(HasSubstr("\"opaque1\"")));
  EXPECT_EQ(leaf(5 * kLeafSize, 1).value().checked_bytes, kLeafSize);
  EXPECT_THAT(texts_of(leaf(5 * kLeafSize - 1, 1)), IsEmpty());
  EXPECT_THAT(texts_of(leaf(5 * kLeafSize - 1, 2)), ElementsAre(HasSubstr("are damaged")));
  EXPECT_EQ(leaf(5 * kLeafSize - 1, 2).value().checked_bytes, 2 * kLeafSize);
  EXPECT_THAT(texts_of(leaf(6 * kLeafSize, record.size_bytes - 6 * kLeafSize)), IsEmpty());
  EXPECT_EQ(leaf(record.size_bytes - 1, 1).value().checked_bytes, record.size_bytes % kLeafSize)
      << "the short last one";
}

TEST(Verify, RangesOutsideAreRefusedWithTheSizes) {
  const std::uint64_t size = large_sample().size();
  for (const ByteRange range : {ByteRange{size, 1}, ByteRange{size - 1, 2}, ByteRange{UINT64_MAX, 2}}) {
    const auto report = verified(large_sample(), {.range = range});
    ASSERT_TRUE(fails_with(report, ErrorCode::kInvalidArgument));
    EXPECT_THAT(report.error().message, HasSubstr(std::to_string(size)));
  }
  EXPECT_TRUE(fails_with(verified(large_sample(), {.range = ByteRange{70'000, 0}}), ErrorCode::kInvalidArgument));
  const auto header = verified(large_sample(), {.range = ByteRange{0, 4096}});
  ASSERT_TRUE(fails_with(header, ErrorCode::kInvalidArgument));
  EXPECT_THAT(header.error().message, HasSubstr("no leaf covers"));
  EXPECT_TRUE(fails_with(verified(large_sample(), {.strict = true, .range = ByteRange{70'000, 1}}),
                         ErrorCode::kInvalidArgument));
}

TEST(Verify, ARangeOfARecordCountsItsLogicalBytes) {
  const Opened opened(large_sample());
  const RecordInfo& record = opened.record("opaque2");
  Bytes damaged = large_sample();
  damaged[static_cast<std::size_t>(record.file_offset + 70'000)] ^= std::byte{1};
  const mapping::BufferFile file(damaged, nullptr);
  const auto of_record = [&](ByteRange range) {
    return verify_record(file, opened.toc.header, opened.toc.toc, record, {.range = range});
  };
  EXPECT_THAT(texts_of(of_record({0, kLeafSize})), IsEmpty());
  EXPECT_THAT(texts_of(of_record({kLeafSize, 1})), ElementsAre(HasSubstr("are damaged")));
  EXPECT_EQ(of_record({kLeafSize, 1}).value().checked_bytes, kLeafSize);
  const auto outside = of_record({record.size_bytes, 1});
  ASSERT_TRUE(fails_with(outside, ErrorCode::kInvalidArgument));
  EXPECT_THAT(outside.error().message, HasSubstr("leave the record \"opaque2\""));
  EXPECT_TRUE(fails_with(verify_record(file, opened.toc.header, opened.toc.toc, record, {.strict = true}),
                         ErrorCode::kInvalidArgument));
}

// The leaves of a recipe are those that its program reads. If it cannot be read, nobody knows which.
TEST(Verify, AReadOfARecipeThatFailsOnceIsAnErrorAndNoCleanReport) {
  const Opened sample(support::unsealed_sample());
  support::HostileFile hostile(support::unsealed_sample());
  const Bytes weights = sample.bytes_of("weights").value();
  support::add_recipe(hostile, support::ProgramText().copy(weights.size(), 0).bytes(), weights).name =
      hostile.add_name("recipe");
  const Opened opened(hostile.bytes());
  support::MemoryFile file(hostile.bytes());
  const auto checked = [&] {
    return verify_record(file, opened.toc.header, opened.toc.toc, opened.record("recipe"), {.threads = 1});
  };
  ASSERT_TRUE(is_ok(checked()));
  const std::uint64_t reads = file.calls(support::FileCall::kRead);
  ASSERT_GT(reads, 3U);
  for (std::uint64_t nth = 0; nth < reads; ++nth) {
    file.fail(support::FileCall::kRead, file.calls(support::FileCall::kRead) + nth, false);
    EXPECT_TRUE(fails_with(checked(), ErrorCode::kIo)) << nth;
  }
}

TEST(Verify, StrictNamesWhatAFileForDeliveryMustNotHave) {
  const Bytes fresh = support::unsealed_sample();
  EXPECT_THAT(texts_of(verified(fresh, {.strict = true})), IsEmpty());
  EXPECT_THAT(texts_of(verified(support::sealed_sample(), {.strict = true})), IsEmpty());

  Bytes with_tail = fresh;
  with_tail.resize(with_tail.size() + 4'000, std::byte{7});
  EXPECT_THAT(texts_of(verified(with_tail, {})), IsEmpty());
  EXPECT_THAT(texts_of(verified(with_tail, {.strict = true})),
              ElementsAre(AllOf(HasSubstr("4000 bytes follow the committed end"), HasSubstr("F10"))));

  Bytes appended = support::append(fresh, {support::binary_record("new", "new", support::pattern(500, 3))}).bytes;
  EXPECT_THAT(texts_of(verified(appended, {})), IsEmpty());
  EXPECT_THAT(texts_of(verified(appended, {.strict = true})),
              ElementsAre(AllOf(HasSubstr("used by no record any more"), HasSubstr("F36"))));

  const Opened opened(appended);
  appended[static_cast<std::size_t>(copies_of(opened.toc.toc.generations[0])[1]) + 9] ^= std::byte{1};
  EXPECT_THAT(texts_of(verified(appended, {})), IsEmpty());
  EXPECT_THAT(texts_of(verified(appended, {.strict = true})),
              ElementsAre(HasSubstr("F36"), HasSubstr("toc copy 1 of generation 1 is damaged")));
}

}  // namespace verify_test
}  // namespace fatctx::container
