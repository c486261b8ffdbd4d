// Every system call of an append fails in turn, with every errno that it may return, once or from then on. The append
// gives a typed error. The earlier generation is unchanged, or the new one is complete. Nothing stays open or locked,
// and the next append works. Shows promise 4 of docs/testing.md.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>

#include "container/format/disk_format.h"
#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "faults/os_faults.h"
#include "support/large_form.h"
#include "support/opened.h"
#include "support/process_files.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace append_faults_test {

using faults::Fault;
using faults::Injected;
using faults::Kind;
using support::Bytes;
using support::fails_with;
using support::is_ok;

struct Number {
  const char* name;
  int value;
  ErrorCode means;  // unless the call gives it a special meaning
};

constexpr Number kNumbers[] = {
    {"EIO", EIO, ErrorCode::kIo},
    {"ENOSPC", ENOSPC, ErrorCode::kNoSpace},
    {"EDQUOT", EDQUOT, ErrorCode::kNoSpace},
    {"EFBIG", EFBIG, ErrorCode::kNoSpace},
    {"EROFS", EROFS, ErrorCode::kIo},
    {"EACCES", EACCES, ErrorCode::kIo},
    {"ENOMEM", ENOMEM, ErrorCode::kNoResource},
    {"EAGAIN", EAGAIN, ErrorCode::kNoResource},
    {"ESTALE", ESTALE, ErrorCode::kIo},
    {"EMFILE", EMFILE, ErrorCode::kNoResource},
};

class AppendFaults : public ::testing::Test {
 protected:
  static Result<AppendReport> append(const std::string& path, const std::string& name = "new") {
    FATCTX_ASSIGN(Appender appender, Appender::open(path, {.threads = 1}));
    FATCTX_TRY(appender.add(support::plain_record(RecordType::kOpaque, name, new_bytes())));
    return appender.commit();
  }
  static Bytes new_bytes() { return support::pattern(70'000, 91); }

  // Returns a file of the second generation, so that the overwritten slot was live once.
  static const Bytes& whole() {
    static const Bytes bytes = [] {
      const support::TempDir folder;
      const std::string path = folder.file("m.fatctx");
      support::write_file(path, support::unsealed_sample());
      EXPECT_TRUE(is_ok(append(path, "second")));
      return support::read_file(path);
    }();
    return bytes;
  }
  // Returns the same file with one mirror missing, which the append restores.
  static Bytes without_a_mirror() {
    Bytes bytes = whole();
    std::fill_n(bytes.begin() + kLostPage, container::kSectorSize, std::byte{0x77});
    return bytes;
  }
  static constexpr std::ptrdiff_t kLostPage = container::kSlotOffsets[3];

  void start_with(const Bytes& bytes) {
    std::filesystem::remove(path_);
    support::write_file(path_, bytes);
  }

  // Runs one append that meets the fault. Returns false once the append makes no such call.
  bool met_by_append(const Fault& fault, const Bytes& start) {
    start_with(start);
    const std::size_t descriptors = support::open_descriptors();
    bool met = false;
    std::string call;
    const auto result = [&] {
      const Injected injected(fault);
      auto done = append(path_);
      met = injected.met();
      call = injected.call();
      return done;
    }();
    SCOPED_TRACE(call + ", the call number " + std::to_string(fault.call) +
                 (fault.for_ever ? " and all after it" : ""));
    EXPECT_EQ(support::open_descriptors(), descriptors);
    if (!result.ok()) expect_typed(result.error(), fault, call);
    const bool must_succeed = (call == "pwrite" || call == "fdatasync") && fault.error_number != EINTR;
    EXPECT_FALSE(result.ok() && met && fault.kind == Kind::kError && must_succeed);
    expect_old_or_new(result, start);
    expect_next_append_works();
    return met;
  }

  void expect_typed(const Error& error, const Fault& fault, const std::string& call) {
    using enum ErrorCode;
    EXPECT_FALSE(error.message.empty());
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
    if (error.where.rule == "F13" || error.where.rule == "F14") return;  // both copies are unreadable
    std::set<ErrorCode> allowed = {kCommitUnknown};
    const auto* number = std::find_if(std::begin(kNumbers), std::end(kNumbers),
                                      [&](const Number& n) { return n.value == fault.error_number; });
    if (number != std::end(kNumbers)) allowed.insert(number->means);
    if (fault.error_number == EINTR) allowed.insert(kIo);  // from calls that never return EINTR
    if (fault.kind == Kind::kShort && fault.at_most == 0) allowed = {kIo, kTruncated, kCommitUnknown};
    if (call == "open" && (fault.error_number == EACCES || fault.error_number == EROFS)) {
      allowed.insert(kOperationNotPermitted);
    }
    if (call == "fcntl" && (fault.error_number == EACCES || fault.error_number == EAGAIN)) allowed.insert(kLocked);
    if (call == "fstatfs") allowed.insert(kRemoteFilesystem);  // an unknown filesystem may be remote
    EXPECT_TRUE(allowed.contains(error.code)) << to_text(error);
    if (fault.kind == Kind::kError && error.code != kRemoteFilesystem) {
      EXPECT_EQ(error.where.os_error, fault.error_number) << to_text(error);
    }
  }

  void expect_old_or_new(const Result<AppendReport>& result, const Bytes& start) {
    const Bytes bytes = support::read_file(path_);
    const auto container = Container::open(path_);
    ASSERT_TRUE(is_ok(container));
    const std::uint64_t generation = support::report_of(container.value()).generation;
    if (result.ok()) {
      EXPECT_EQ(generation, 3U);
    } else if (result.error().code == ErrorCode::kCommitUnknown) {
      EXPECT_TRUE(generation == 2 || generation == 3);
    } else {
      EXPECT_EQ(generation, 2U) << to_text(result.error());
      expect_equal_but_for_the_lost_page(bytes, start, 0);
    }
    // No existing byte behind the header changes, in any case.
    expect_equal_but_for_the_lost_page(bytes, start, container::kHeaderSize);
    if (generation == 3) {
      const auto view = container.value().acquire("new");
      ASSERT_TRUE(is_ok(view));
      EXPECT_TRUE(std::ranges::equal(view.value().bytes(), new_bytes()));
    }
    for (const RecordInfo& record : support::records_in(container.value())) {
      EXPECT_TRUE(is_ok(container.value().acquire(record.id))) << record.name;
    }
  }

  static void expect_equal_but_for_the_lost_page(const Bytes& bytes, const Bytes& start, std::size_t from) {
    ASSERT_GE(bytes.size(), start.size()) << "it was cut";
    const auto first = static_cast<std::ptrdiff_t>(from);
    const auto page = static_cast<std::ptrdiff_t>(container::kSectorSize);
    const auto end = static_cast<std::ptrdiff_t>(start.size());
    const auto equal = [&](std::ptrdiff_t a, std::ptrdiff_t b) {
      return a >= b || std::equal(start.begin() + a, start.begin() + b, bytes.begin() + a);
    };
    EXPECT_TRUE(equal(first, kLostPage) && equal(std::max(first, kLostPage + page), end));
  }

  void expect_next_append_works() {
    const auto next = append(path_, "next");
    ASSERT_TRUE(is_ok(next));
    const auto report = verify_file(path_);
    ASSERT_TRUE(is_ok(report));
    for (const VerifyFinding& finding : report.value().findings) ADD_FAILURE() << to_text(finding.error);
  }

  // Fails every call in turn, until the append makes no further one.
  void every_call(Fault fault, const Bytes& start, long least_calls) {
    for (fault.call = 0; met_by_append(fault, start); ++fault.call) {
      if (HasFailure()) return;
      ASSERT_LT(fault.call, 500) << "it never got through";
    }
    EXPECT_GE(fault.call, least_calls) << "are the calls led through the faults at all?";
    std::printf("%ld faults\n", fault.call);
  }

  const support::TempDir folder_;
  const std::string path_ = folder_.file("m.fatctx");
};

class AppendFaultsOfNumber : public AppendFaults, public ::testing::WithParamInterface<Number> {};

TEST_P(AppendFaultsOfNumber, AreTypedErrorsAndLeaveTheOldOrTheNewGeneration) {
  for (const bool for_ever : {false, true}) {
    every_call({.error_number = GetParam().value, .for_ever = for_ever}, whole(), 20);
  }
}

TEST_P(AppendFaultsOfNumber, AlsoWhileAMirrorIsRestored) {
  every_call({.error_number = GetParam().value}, without_a_mirror(), 22);
}

TEST_P(AppendFaultsOfNumber, OfCloseComeTooLateToMatter) {
  every_call({.error_number = GetParam().value, .for_ever = true, .closes_only = true}, whole(), 1);
}

INSTANTIATE_TEST_SUITE_P(Numbers, AppendFaultsOfNumber, ::testing::ValuesIn(kNumbers),
                         [](const auto& number) { return std::string(number.param.name); });

TEST_F(AppendFaults, InterruptionsAreNoErrors) {
  for (const bool for_ever : {false, true}) {
    for (Fault fault{.kind = Kind::kInterrupt, .error_number = EINTR, .for_ever = for_ever};; ++fault.call) {
      start_with(whole());
      const Injected injected(fault);
      const auto done = append(path_);
      ASSERT_TRUE(is_ok(done)) << injected.call();
      if (!injected.met()) break;
    }
  }
  // EINTR of calls that have finished their work, or have none.
  every_call({.error_number = EINTR, .call = 0}, whole(), 0);
}

TEST_F(AppendFaults, ShortTransfersAreGoneOnWithAndEmptyOnesEnd) {
  for (const long at_most : {0L, 1L, 511L, 4095L}) {
    every_call({.kind = Kind::kShort, .at_most = at_most}, whole(), 10);
    if (HasFailure()) return;
  }
  for (const long at_most : {511L, 4095L}) {
    start_with(whole());
    const Injected injected({.kind = Kind::kShort, .for_ever = true, .at_most = at_most});
    EXPECT_TRUE(is_ok(append(path_)));
  }
}

TEST_F(AppendFaults, AFileThatCannotBeLockedIsRefusedWithARemedy) {
  for (const int number : {ENOLCK, EINVAL, ENOSYS, EOPNOTSUPP}) {
    bool locking = false;
    for (Fault fault{.error_number = number}; !locking; ++fault.call) {
      start_with(whole());
      const Injected injected(fault);
      const auto done = append(path_);
      ASSERT_TRUE(injected.met());
      locking = injected.call() == "fcntl";
      if (!locking) continue;
      ASSERT_TRUE(fails_with(done, ErrorCode::kUnsupported));
      EXPECT_NE(done.error().message.find("work on a copy"), std::string::npos);
    }
    EXPECT_EQ(support::read_file(path_), whole());
  }
}

// Another writer replaces the file by rename between our open and our lock. An append to the old file would be lost.
TEST_F(AppendFaults, AFileThatWasReplacedBeforeItWasLockedIsNotAppendedTo) {
  start_with(whole());
  const std::string kept = folder_.file("kept");
  const std::string newer = folder_.file("newer");
  support::write_file(newer, support::unsealed_sample());
  std::filesystem::create_hard_link(path_, kept);
  {
    const faults::Before lock("fcntl", [&] {
      std::error_code ignored;  // the second time there is nothing to rename
      std::filesystem::rename(newer, path_, ignored);
    });
    EXPECT_TRUE(fails_with(append(path_), ErrorCode::kChanged));
  }
  EXPECT_EQ(support::read_file(kept), whole());
  EXPECT_EQ(support::read_file(path_), support::unsealed_sample());
  EXPECT_TRUE(is_ok(append(path_)));

  start_with(whole());
  {
    const faults::Before lock("fcntl", [&] { std::filesystem::remove(path_); });
    EXPECT_TRUE(fails_with(append(path_), ErrorCode::kNotFound));
  }
}

}  // namespace append_faults_test
}  // namespace fatctx
