// The calls that an append makes on its file, one by one: the order of docs/format.md, section 13, and its behavior
// when a call fails. Every test runs on both forms of the header.
#include <gtest/gtest.h>

#include <algorithm>

#include "container/edit/append.h"
#include "crash/both_forms.h"
#include "crash/oracle.h"
#include "fatctx/base/checked.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::crash {
namespace protocol_test {

using container::kSectorSize;
using support::fails_with;
using support::is_ok;

struct Attempt {
  Bytes file;
  container::HeaderForm form;
  std::vector<Call> log;
  Result<AppendReport> report = Error{ErrorCode::kInternal, "it never began"};

  explicit Attempt(std::uint8_t extent_log2, Bytes start, std::uint64_t failing_sync = 0)
      : file(std::move(start)), form(container::header_form(extent_log2)) {
    auto appender = appender_over(std::make_unique<RecordingFile>(file, log, failing_sync), "file", {});
    if (!appender.ok()) {
      report = std::move(appender).error();
      return;
    }
    PackRecord record = support::binary_record("new", "arch", support::pattern(100'000, 5));
    EXPECT_TRUE(is_ok(appender.value().add(std::move(record))));
    report = appender.value().commit();
  }

  // Returns the calls in order, without repetitions: "slot 1", "new" (behind the old end), "sync".
  [[nodiscard]] std::vector<std::string> calls(std::uint64_t old_size) const {
    std::vector<std::string> names;
    for (const Call& call : log) {
      std::string name = call.kind == Call::Kind::kWrite ? place_of(call.offset, old_size) : "sync";
      if (names.empty() || names.back() != name || name == "sync") names.push_back(std::move(name));
    }
    return names;
  }

 private:
  [[nodiscard]] std::string place_of(std::uint64_t offset, std::uint64_t old_size) const {
    const auto slot = std::find(form.slots.begin(), form.slots.end(), offset);
    if (slot != form.slots.end()) return "slot " + std::to_string(slot - form.slots.begin());
    const auto prologue = std::find(form.prologues.begin(), form.prologues.end(), offset);
    if (prologue != form.prologues.end()) return "prologue " + std::to_string(prologue - form.prologues.begin());
    return offset >= old_size ? "new" : "old byte " + std::to_string(offset);
  }
};

using Calls = std::vector<std::string>;

// Returns `calls` followed by `more`.
Calls after(Calls calls, const Calls& more) {
  calls.insert(calls.end(), more.begin(), more.end());
  return calls;
}

// In the small form, the prologue in the page of the slot is written again with it.
Calls up_to_barrier_1(std::uint8_t extent_log2) {
  const Calls calls = {"slot 0", "new", "sync"};
  return extent_log2 == container::kSmallExtentLog2 ? after({"prologue 0"}, calls) : calls;
}
Calls whole_commit(std::uint8_t extent_log2) {
  return after(up_to_barrier_1(extent_log2), {"slot 1", "slot 3", "slot 2", "sync"});
}

TEST(AppendProtocol, NewBytesThenABarrierThenTheInactivePairThenABarrier) {
  for (const auto& [extent_log2, first, form] : samples()) {
    SCOPED_TRACE(name_of_form(extent_log2));
    const Attempt one(extent_log2, first);
    ASSERT_TRUE(is_ok(one.report));
    EXPECT_EQ(one.calls(first.size()), whole_commit(extent_log2));
  }
}

// A mirror that reads well may exist in the page cache only. Only one of the two mirrors is at risk at a time: the
// second is written once the first is on the disk and reads show the new pair.
TEST(AppendProtocol, ThePresentPairIsWrittenAgainWithTheBytesThatItHas) {
  for (const auto& [extent_log2, first, form] : samples()) {
    SCOPED_TRACE(name_of_form(extent_log2));
    const Attempt one(extent_log2, first);
    ASSERT_TRUE(is_ok(one.report));
    std::size_t present = 0;
    for (const Call& call : one.log) {
      if (call.kind != Call::Kind::kWrite || (call.offset != form.slots[0] && call.offset != form.slots[2])) continue;
      ++present;
      ASSERT_EQ(call.bytes.size(), kSectorSize);
      EXPECT_TRUE(
          std::equal(call.bytes.begin(), call.bytes.end(), first.begin() + static_cast<std::ptrdiff_t>(call.offset)));
    }
    EXPECT_EQ(present, 2U);
  }
}

TEST(AppendProtocol, ADamagedMirrorIsWholeOnTheDiskBeforeAnythingElseIsWritten) {
  for (const auto& [extent_log2, first, form] : samples()) {
    SCOPED_TRACE(name_of_form(extent_log2));
    for (const std::size_t mirror : {0U, 2U}) {
      Bytes damaged = first;
      std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(form.slots[mirror]), kSectorSize, std::byte{0});
      const Attempt run(extent_log2, damaged);
      ASSERT_TRUE(is_ok(run.report));
      const std::string name = "slot " + std::to_string(mirror);
      EXPECT_EQ(run.calls(first.size()), after({name, "sync"}, whole_commit(extent_log2)));
      EXPECT_EQ(run.report.value().restored.size(), 1U);
      EXPECT_EQ(opened(run.file, run.file.size()).value().header.degraded, 0U);
      Oracle oracle;
      EXPECT_EQ(oracle.remember(run.file), "");
    }
  }
}

// The bytes from the next extent on stay. Up to there they become padding, which is zero.
TEST(AppendProtocol, WhatLiesBehindTheEndIsLeftAsItIs) {
  for (const auto& [extent_log2, first, form] : samples()) {
    SCOPED_TRACE(name_of_form(extent_log2));
    Bytes longer = first;
    const Bytes tail = support::pattern(150'000, 3);
    longer.insert(longer.end(), tail.begin(), tail.end());
    const Attempt run(extent_log2, longer);
    ASSERT_TRUE(is_ok(run.report));
    const auto end = static_cast<std::ptrdiff_t>(first.size());
    const auto extent = static_cast<std::ptrdiff_t>(*checked_align_up(first.size(), form.unit_log2));
    ASSERT_GT(extent, end);
    EXPECT_TRUE(std::equal(longer.begin() + extent, longer.end(), run.file.begin() + extent));
    EXPECT_TRUE(
        std::all_of(run.file.begin() + end, run.file.begin() + extent, [](std::byte b) { return b == std::byte{0}; }));
    Oracle oracle;
    EXPECT_EQ(oracle.remember(run.file), "");
  }
}

TEST(AppendProtocol, AFirstBarrierThatFailsIsNotAskedAgainAndLeavesTheOldGeneration) {
  for (const auto& [extent_log2, first, form] : samples()) {
    SCOPED_TRACE(name_of_form(extent_log2));
    const Attempt run(extent_log2, first, 1);
    EXPECT_TRUE(fails_with(run.report, ErrorCode::kIo));
    EXPECT_EQ(run.calls(first.size()), up_to_barrier_1(extent_log2));
    EXPECT_EQ(generation_of(first), 1U);
  }
}

// It is then unknown whether the slots are on the disk; both are possible.
TEST(AppendProtocol, ASecondBarrierThatFailsIsNotAskedAgainAndLeavesItToTheNextOpen) {
  for (const auto& [extent_log2, first, form] : samples()) {
    SCOPED_TRACE(name_of_form(extent_log2));
    const Attempt run(extent_log2, first, 2);
    EXPECT_TRUE(fails_with(run.report, ErrorCode::kCommitUnknown));
    EXPECT_EQ(run.calls(first.size()), whole_commit(extent_log2));
    EXPECT_EQ(generation_of(run.file), 2U);
    Bytes without = run.file;
    std::copy_n(first.begin(), form.size, without.begin());
    EXPECT_EQ(generation_of(without), 1U);
    EXPECT_TRUE(is_ok(Attempt(extent_log2, without).report));
  }
}

TEST(AppendProtocol, AFailedSyncOfARestoredMirrorEndsTheAppend) {
  for (const auto& [extent_log2, first, form] : samples()) {
    SCOPED_TRACE(name_of_form(extent_log2));
    Bytes damaged = first;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(form.slots[2]), kSectorSize, std::byte{0});
    const Attempt run(extent_log2, damaged, 1);
    EXPECT_TRUE(fails_with(run.report, ErrorCode::kIo));
    // The damaged bytes are written back: the next append must not mistake a repair in the page cache for one on the
    // disk.
    EXPECT_EQ(run.calls(first.size()), (Calls{"slot 2", "sync", "slot 2"}));
    EXPECT_EQ(run.file, damaged);
  }
}

TEST(AppendProtocol, NothingIsEverAskedOfASealedFile) {
  for (const auto& [extent_log2, first, form] : samples()) {
    SCOPED_TRACE(name_of_form(extent_log2));
    PackOptions options;
    options.seal = true;
    options.extent_log2 = extent_log2;
    const Attempt run(extent_log2, support::packed_bytes(support::cpu_records(), std::move(options)));
    EXPECT_TRUE(fails_with(run.report, ErrorCode::kOperationNotPermitted));
    EXPECT_TRUE(run.log.empty());
  }
}

}  // namespace protocol_test
}  // namespace fatctx::crash
