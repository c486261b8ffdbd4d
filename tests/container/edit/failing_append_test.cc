// Calls of the file that fail once in an append. A write, a sync or a reservation that fails is never taken for done,
// and a read that fails spoils no byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "container/check/verify.h"
#include "container/read/opened_file.h"
#include "container/read/stored_rows.h"
#include "support/appended.h"
#include "support/large_form.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace failing_append_test {

using support::append;
using support::Appended;
using support::Bytes;
using support::fails_with;
using support::FileCall;
using support::is_ok;

// Returns records of every form: shared with the file, compressed, packed with others, and stored in pieces.
std::vector<PackRecord> records_of_every_form() {
  PackRecord cold = support::plain_record(RecordType::kSourceModel, "cold", Bytes(200'000, std::byte{7}));
  cold.codec = Codec::kLz4;
  Bytes runs = support::pattern(3 * kLeafSize, 61);
  Bytes others = runs;
  others[kLeafSize + 9] ^= std::byte{1};
  return {std::move(cold), support::plain_record(RecordType::kOpaque, "small", support::pattern(321, 62)),
          support::binary_record("cpu-a", "riscv-a", std::move(runs)),
          support::binary_record("cpu-b", "riscv-b", std::move(others))};
}

// Returns a file of two generations with a lost mirror and the tail of a crash, so that an append has all it may do.
Bytes start() {
  static const Bytes bytes = [] {
    Bytes file =
        append(support::unsealed_sample(), {support::binary_record("cpu-0", "riscv-0", support::pattern(70'000, 60))})
            .bytes;
    std::fill_n(file.begin() + kSlotOffsets[3], kSectorSize, std::byte{0x77});
    file.resize(file.size() + 300'000, std::byte{0x5a});
    return file;
  }();
  return bytes;
}

bool is_clean(const Opened& opened) {
  const auto report = verify_container(opened.file, {});
  return report.ok() && report.value().findings.empty();
}

struct Run {
  Appended done;
  bool met;  // the call was made
};

// Appends to start(); call number `nth` of the commit fails once.
Run run(FileCall call, std::uint64_t nth) {
  auto memory = std::make_unique<support::MemoryFile>(start());
  support::MemoryFile& file = *memory;  // lives as long as the appender
  Appender appender = appender_over(std::move(memory), "m.fatctx", {}).value();
  for (PackRecord& record : records_of_every_form()) EXPECT_TRUE(is_ok(appender.add(std::move(record))));
  nth += file.calls(call);
  file.fail(call, nth, false);
  auto report = appender.commit();
  const bool met = file.calls(call) > nth;
  return {{std::move(report), std::move(file.bytes())}, met};
}

TEST(FailingAppend, AWriteASyncOrAReservationThatFailsOnceIsAnError) {
  for (const FileCall call : {FileCall::kWrite, FileCall::kSync, FileCall::kAllocate}) {
    for (std::uint64_t nth = 0;; ++nth) {
      SCOPED_TRACE("call number " + std::to_string(nth) + " of kind " + std::to_string(static_cast<int>(call)));
      ASSERT_LT(nth, 100U);
      const auto [done, met] = run(call, nth);
      const Opened opened(done.bytes);
      if (!met) {
        EXPECT_EQ(nth, call == FileCall::kWrite ? 13U : call == FileCall::kSync ? 3U : 1U);
        ASSERT_TRUE(is_ok(done.report));
        EXPECT_EQ(opened.toc.header.generation, 3U);
        EXPECT_EQ(opened.toc.header.degraded, 0U);
        EXPECT_TRUE(is_clean(opened));
        break;
      }
      ASSERT_FALSE(done.report.ok());
      const ErrorCode code = done.report.error().code;
      EXPECT_TRUE(code == ErrorCode::kIo || code == ErrorCode::kCommitUnknown) << to_text(done.report.error());
      EXPECT_TRUE(opened.toc.header.generation == 2 ||
                  (opened.toc.header.generation == 3 && code == ErrorCode::kCommitUnknown));
    }
  }
}

TEST(FailingAppend, AReadThatFailsOnceSpoilsNoByte) {
  const Bytes before = start();
  const auto end = static_cast<std::ptrdiff_t>(Opened(before).toc.header.committed_end);
  for (std::uint64_t nth = 0;; ++nth) {
    SCOPED_TRACE("read number " + std::to_string(nth));
    ASSERT_LT(nth, 1'000U);
    const auto [done, met] = run(FileCall::kRead, nth);
    const Opened opened(done.bytes);
    EXPECT_TRUE(std::equal(before.begin() + kHeaderSize, before.begin() + end, done.bytes.begin() + kHeaderSize));
    if (done.report.ok()) {
      EXPECT_EQ(opened.toc.header.degraded, 0U);
      EXPECT_TRUE(is_clean(opened));
    } else {
      EXPECT_EQ(done.report.error().where.os_error, 5) << to_text(done.report.error());
      EXPECT_EQ(opened.toc.header.generation, done.report.error().code == ErrorCode::kCommitUnknown ? 3U : 2U);
      EXPECT_EQ(opened.toc.header.degraded & ~(kDegradedSlotA0 << 3U), 0U) << "nothing else is damaged now";
    }
    if (!met) {
      EXPECT_EQ(nth, 18U);
      break;
    }
  }
}

TEST(FailingAppend, WeightsThatTheFileDoesNotHaveAreAnError) {
  PackRecord record = support::binary_record("cpu-new", "riscv", support::pattern(500, 63));
  record.weights = {"no such weights"};
  const Appended done = append(support::unsealed_sample(), {std::move(record)});
  EXPECT_TRUE(fails_with(done.report, ErrorCode::kBadReference, "F27"));
  EXPECT_EQ(done.bytes, support::unsealed_sample());
}

TEST(FailingAppend, ACancelledOneLeavesTheFileAsItWas) {
  const std::atomic<bool> cancel = true;
  const Appended done =
      append(support::unsealed_sample(), {support::binary_record("cpu-new", "riscv", support::pattern(90'000, 64))},
             {.cancel = &cancel});
  EXPECT_TRUE(fails_with(done.report, ErrorCode::kCancelled));
  EXPECT_EQ(Opened(done.bytes).toc.header.generation, 1U);
}

TEST(FailingAppend, RecordsInPiecesPromiseTheGranuleOfTheFile) {
  const Bytes old = support::pattern(6 * kLeafSize, 65);
  Bytes fresh = support::pattern(2 * kLeafSize, 66);
  fresh.insert(fresh.end(), old.begin() + 2 * kLeafSize, old.end());
  PackOptions options;
  options.granule_log2 = 16;
  const Appended done = append(support::packed_bytes({support::binary_record("a", "v73", old)}, options),
                               {support::binary_record("b", "v75", fresh)});
  ASSERT_TRUE(is_ok(done.report));
  const Opened opened(done.bytes);
  const Toc& toc = opened.toc.toc;
  ASSERT_EQ(opened.record("b").slice_count, 2U);
  EXPECT_EQ(StoredRows(toc).record(toc.index_of(opened.record("b"))).alignment_log2, 16);
}

}  // namespace failing_append_test
}  // namespace fatctx::container
