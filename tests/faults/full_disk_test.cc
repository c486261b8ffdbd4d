// An append that runs out of disk space, on a real system: with a file size limit, or on a small file system. The
// earlier generation stays, and the error names the cause. Shows promise 4 of docs/testing.md.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "faults/os_faults.h"
#include "support/child_process.h"
#include "support/opened.h"
#include "support/sample_container.h"

namespace fatctx {
namespace full_disk_test {

using support::Bytes;

// The exit codes of the children.
enum Answer : int { kNoRoom = 0, kAppended = 1, kWrongError = 2, kOtherBytes = 3, kDoesNotOpen = 4, kSetUp = 5 };

Result<AppendReport> append(const std::string& path) {
  FATCTX_ASSIGN(Appender appender, Appender::open(path, {.threads = 1}));
  FATCTX_TRY(appender.add(support::plain_record(RecordType::kOpaque, "new", support::pattern(100'000, 17))));
  return appender.commit();
}

Answer append_where_room_is_short(const std::string& path, const Bytes& start) {
  const auto done = append(path);
  const auto container = Container::open(path);
  if (!container.ok()) return kDoesNotOpen;
  if (done.ok()) return container.value().acquire("new").ok() ? kAppended : kDoesNotOpen;
  if (done.error().code != ErrorCode::kNoSpace) return kWrongError;
  const Bytes now = support::read_file(path);
  if (now.size() < start.size() || !std::equal(start.begin(), start.end(), now.begin())) return kOtherBytes;
  return support::report_of(container.value()).generation == 1 ? kNoRoom : kDoesNotOpen;
}

constexpr std::uint64_t kStep = 4096;
constexpr std::uint64_t kEnough = 170 * kStep;  // room for the append

TEST(FullDisk, ALimitOfFileSizeIsNoSpaceAtEveryStep) {
  const Bytes& start = support::unsealed_sample();
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  int refused = 0;
  int appended = 0;
  for (std::uint64_t more = 0; more <= kEnough; more += 4 * kStep) {
    support::write_file(path, start);
    const int answer = support::in_child([&]() -> int {
      const rlimit limit = {start.size() + more, start.size() + more};
      if (::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) return kSetUp;
      return append_where_room_is_short(path, start);
    });
    ASSERT_TRUE(answer == kNoRoom || answer == kAppended) << answer << " with " << more << " bytes more";
    (answer == kNoRoom ? refused : appended)++;
    ASSERT_TRUE(answer == kAppended || append(path).ok()) << "with the limit gone it works";
  }
  EXPECT_GT(refused, 5);
  EXPECT_GT(appended, 0);
}

TEST(FullDisk, ASmallFileSystemIsNoSpaceAtEveryStep) {
  const Bytes& start = support::unsealed_sample();
  const support::TempDir folder;
  const std::uint64_t whole_steps = (start.size() + kStep - 1) / kStep;
  int refused = 0;
  int appended = 0;
  for (std::uint64_t more = 0; more <= kEnough; more += 3 * kStep) {
    const int answer = support::in_child([&]() -> int {
      const int wanted = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
      if (::unshare(wanted) != 0) return support::kChildSkipped;
      const std::string options = "size=" + std::to_string(whole_steps * kStep + more);
      if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::mount("none", folder.path().c_str(), "tmpfs", 0, options.c_str()) != 0) {
        return support::kChildSkipped;
      }
      support::write_file(folder.file("m.fatctx"), start);
      return append_where_room_is_short(folder.file("m.fatctx"), start);
    });
    if (answer == support::kChildSkipped) GTEST_SKIP() << "nothing may be mounted here";
    ASSERT_TRUE(answer == kNoRoom || answer == kAppended) << answer << " with " << more << " bytes more";
    (answer == kNoRoom ? refused : appended)++;
  }
  EXPECT_GT(refused, 5);
  EXPECT_GT(appended, 0);
}

// A test with every command that writes, and the call by which it reserves its room.
class FullDiskReserving : public ::testing::Test {
 protected:
  using Code = std::optional<ErrorCode>;  // empty: it did what it was asked

  FullDiskReserving() {
    const auto code_of = [](const auto& result) { return result.ok() ? Code() : result.error().code; };
    const std::string secret = make_keys(folder_.file("key")).value().secret_path;
    writers_.emplace_back("pack", [=, this] { return code_of(support::pack(support::cpu_records(), out_, {})); });
    writers_.emplace_back("compact", [=, this] { return code_of(rewrite_container(source_, out_, {})); });
    writers_.emplace_back("sign", [=, this] { return code_of(sign_container(source_, secret, out_, {})); });
    writers_.emplace_back("append", [=, this]() -> Code {
      auto appender = Appender::open(source_, {});
      if (!appender.ok()) return appender.error().code;
      auto added = appender.value().add(support::plain_record(RecordType::kOpaque, "new", support::pattern(9'000, 1)));
      return added.ok() ? code_of(appender.value().commit()) : added.error().code;
    });
  }

  // Lets the writer's call that reserves fail with that number. Returns its answer; fails if nothing is reserved.
  Code fail_to_reserve(const char* name, const std::function<Code()>& write, int error_number) {
    for (faults::Fault fault{.error_number = error_number};; ++fault.call) {
      support::write_file(source_, support::unsealed_sample());
      std::filesystem::remove(out_);  // of a writer that did without the call that failed
      written_ = false;
      const faults::Injected injected(fault);
      const Code code = write();
      if (!injected.met()) {
        ADD_FAILURE() << name << " reserves nothing; code " << (code ? static_cast<int>(*code) : 0) << " at call "
                      << fault.call;
        return code;
      }
      if (injected.call() == "fallocate") return code;
    }
  }

  const support::TempDir folder_;
  const std::string source_ = folder_.file("m.fatctx");
  const std::string out_ = folder_.file("out.fatctx");
  bool written_ = false;
  std::vector<std::pair<const char*, std::function<Code()>>> writers_;
};

// Every writer asks for all of its room before it writes the first byte of it: a full disk is known early.
TEST_F(FullDiskReserving, RoomIsReservedBeforeAnythingIsWritten) {
  for (const auto& [name, write] : writers_) {
    {
      const faults::Before writes("pwrite", [this] { written_ = true; });
      EXPECT_EQ(fail_to_reserve(name, write, ENOSPC), ErrorCode::kNoSpace) << name;
    }
    EXPECT_FALSE(written_) << name;
    EXPECT_FALSE(std::filesystem::exists(out_)) << name;
  }
}

// A file system that cannot say beforehand whether there is room is written to all the same.
TEST_F(FullDiskReserving, WhereRoomCannotBeAskedForTheFileIsWrittenWithoutAsking) {
  for (const int number : {EOPNOTSUPP, ENOSYS}) {
    for (const auto& [name, write] : writers_) {
      EXPECT_EQ(fail_to_reserve(name, write, number), std::nullopt) << name << ", error " << number;
      const bool in_place = std::string_view(name) == "append";
      const auto written = verify_file(in_place ? source_ : out_);
      ASSERT_TRUE(written.ok()) << name << ": " << to_text(written.error());
      EXPECT_TRUE(written.value().findings.empty()) << name;
      if (!in_place) continue;
      EXPECT_TRUE(Container::open(source_).value().find("new").ok());
    }
  }
}

// There the write itself finds out that the disk is full; that is the same error, and the generation before stays.
TEST_F(FullDiskReserving, WhereRoomCannotBeAskedForTheWriteSaysThatThereIsNone) {
  const Bytes& start = support::unsealed_sample();
  const int answer = support::in_child([&]() -> int {
    const rlimit limit = {start.size() + kStep, start.size() + kStep};
    if (::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) return kSetUp;
    int short_of_room = kSetUp;
    (void)fail_to_reserve(
        "append",
        [&]() -> Code {
          short_of_room = append_where_room_is_short(source_, start);
          return std::nullopt;
        },
        EOPNOTSUPP);
    return short_of_room;
  });
  EXPECT_EQ(answer, kNoRoom);
}

}  // namespace full_disk_test
}  // namespace fatctx
