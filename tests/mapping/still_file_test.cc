// Bytes of a file that are looked at where they are mapped: who may cut the file meanwhile, and who waits.
#include "mapping/still_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "mapping/append_file.h"
#include "mapping/bus_guard.h"
#include "mapping/look_through.h"
#include "mapping/mapped_file.h"
#include "mapping/mapped_region.h"
#include "mapping/page_advice.h"
#include "mapping/windowed_file.h"
#include "support/child_process.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::mapping {
namespace still_file_test {

using support::Bytes;
using support::is_ok;
using support::TempDir;

constexpr std::uint64_t kSize = std::uint64_t{5} << 20;
constexpr ByteRange kPart = {std::uint64_t{1} << 20, std::uint64_t{2} << 20};

class AStillFile : public testing::Test {
 protected:
  void SetUp() override {
    bytes_ = support::pattern(kSize, 31);
    support::write_file(path_, bytes_);
    file_ = open_for_reading(path_).value();
    // A filesystem without leases, or one of another owner, is read with pread. There is nothing to test on it.
    const int trial = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const bool leases = ::fcntl(trial, F_SETLEASE, F_RDLCK) == 0;
    ::close(trial);
    if (!leases) GTEST_SKIP() << "the filesystem of " << path_ << " gives no leases";
  }
  [[nodiscard]] bool shows(const OsFile& file, ByteRange range = kPart) const {
    bool right = false;
    const auto shown = file.show(range, {}, [&](ByteView seen) { right = is_part(seen, range); });
    EXPECT_TRUE(is_ok(shown));
    EXPECT_EQ(right, shown.ok() && shown.value());
    return right;
  }
  [[nodiscard]] bool is_part(ByteView seen, ByteRange range) const {
    return std::ranges::equal(seen, ByteView(bytes_).subspan(range.offset, range.size));
  }

  TempDir folder_;
  std::string path_ = folder_.file("still");
  Bytes bytes_;
  std::unique_ptr<OsFile> file_;
};

TEST_F(AStillFile, ShowsItsBytesWithAMapOfItsOwnOrTheCallers) {
  EXPECT_TRUE(shows(*file_));
  EXPECT_TRUE(shows(*file_, {4097, kSize - 4097})) << "from the middle of a page to the end";

  const auto region = map_file(*file_, kSize).value();
  const std::byte* at = nullptr;
  const MappedFile mapped(*file_, region.get());
  EXPECT_TRUE(mapped.show(kPart, {}, [&](ByteView seen) { at = seen.data(); }).value());
  EXPECT_EQ(at, region->bytes().data() + kPart.offset);

  const WindowedFile window(open_for_reading(path_).value(), 4096, kSize - 4096);
  bool right = false;
  EXPECT_TRUE(window.show({100'000, 200'000}, {},
                          [&](ByteView seen) {
                            right = is_part(seen, {104'096, 200'000});
                          })
                  .value());
  EXPECT_TRUE(right);
  EXPECT_FALSE(window.show({kSize - 100'000, 200'000}, {}, [](ByteView) {}).value()) << "it leaves the window";
}

TEST_F(AStillFile, ShowsNothingThatACopyReadsFasterOrThatIsNotThere) {
  EXPECT_FALSE(shows(*file_, {0, 4096}));
  EXPECT_FALSE(shows(*file_, {kSize - 100'000, 100'001})) << "a byte behind the end";
  ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(kPart.offset + kPart.size - 1)), 0);
  EXPECT_FALSE(shows(*file_)) << "the page is there, its last byte is not the file's";
}

TEST_F(AStillFile, ShowsNothingWhileSomebodyCanWriteOrOnASharedDescription) {
  const int writer = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_FALSE(shows(*file_));
  ::close(writer);
  EXPECT_TRUE(shows(*file_));
  const auto copy = duplicate_for_reading(file_->descriptor()).value();
  EXPECT_FALSE(shows(*copy)) << "the caller's own description keeps its signal and its leases";
}

TEST_F(AStillFile, ShowsNothingThatHasToBeReadFromTheDisk) {
  const int descriptor = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::fsync(descriptor), 0);
  ::close(descriptor);
  drop_cache(*file_, {0, kSize});
  bool dropped = false;
  for (std::uint64_t at = 0; at < kPart.size && !dropped; at += 65'536) {
    dropped = !shows(*file_, {kPart.offset + at, 65'536});
  }
  if (!dropped) GTEST_SKIP() << "the filesystem of " << path_ << " keeps all its bytes in memory";
  Bytes read(kPart.size);
  ASSERT_TRUE(is_ok(file_->read_at(kPart.offset, read)));
  EXPECT_TRUE(shows(*file_));
}

// The signal for a waiting writer must not be one that ends the process: SIGIO would.
TEST_F(AStillFile, ACutWaitsForTheLook) {
  std::atomic<bool> looking{false};
  std::atomic<bool> was_cut{false};
  std::thread cutter([&] {
    while (!looking) std::this_thread::yield();
    EXPECT_EQ(::truncate(path_.c_str(), 0), 0);
    was_cut = true;
  });
  bool right = false;
  bool early = false;
  const auto shown = file_->show(kPart, {}, [&](ByteView seen) {
    looking = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    right = is_part(seen, kPart);
    early = was_cut;
  });
  looking = true;
  cutter.join();
  EXPECT_TRUE(is_ok(shown) && shown.value());
  EXPECT_TRUE(right);
  EXPECT_FALSE(early);
  EXPECT_TRUE(was_cut);
  EXPECT_FALSE(shows(*file_));
}

TEST_F(AStillFile, AnAppenderWaitsForTheLookAndIsNotRefused) {
  std::atomic<bool> looking{false};
  std::atomic<bool> opened{false};
  std::thread appender([&] {
    while (!looking) std::this_thread::yield();
    const auto file = open_for_appending(path_);
    EXPECT_TRUE(is_ok(file));
    opened = true;
  });
  bool early = false;
  ASSERT_TRUE(file_
                  ->show(kPart, {},
                         [&](ByteView) {
                           looking = true;
                           std::this_thread::sleep_for(std::chrono::milliseconds(100));
                           early = opened;
                         })
                  .value());
  appender.join();
  EXPECT_FALSE(early);
  EXPECT_TRUE(opened);
  EXPECT_TRUE(shows(*file_)) << "the appender has closed it";
}

TEST_F(AStillFile, ThreadsShareTheLeaseAndAWaitingWriterStopsNewLooks) {
  const auto lease = [&] { return ::fcntl(file_->descriptor(), F_GETLEASE); };
  EXPECT_TRUE(file_
                  ->show(kPart, {},
                         [&](ByteView) {
                           EXPECT_TRUE(shows(*file_));
                           EXPECT_EQ(lease(), F_RDLCK) << "the end of the inner look is not the end of the outer one";
                           const int refused = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
                           EXPECT_EQ(refused, -1);
                           EXPECT_FALSE(shows(*file_)) << "somebody waits";
                         })
                  .value());
  EXPECT_EQ(lease(), F_UNLCK);
  EXPECT_TRUE(shows(*file_));
}

TEST_F(AStillFile, AChildLeavesTheLeaseOfItsParentAlone) {
  ASSERT_TRUE(shows(*file_)) << "the parent was first";
  EXPECT_TRUE(file_
                  ->show(kPart, {},
                         [&](ByteView) {
                           EXPECT_EQ(support::in_child([&] {
                                       const auto shown = file_->show(kPart, {}, [](ByteView) {});
                                       return shown.ok() && !shown.value() ? 0 : 1;
                                     }),
                                     0);
                           EXPECT_EQ(::fcntl(file_->descriptor(), F_GETLEASE), F_RDLCK);
                         })
                  .value());
}

// In a child, because the guard stays installed.
TEST_F(AStillFile, TheGuardServesWhereThereIsNoLeaseUnlessItsHandlerWasReplaced) {
  EXPECT_EQ(support::in_child([&] {
              const auto shared = duplicate_for_reading(file_->descriptor()).value();
              if (!install_bus_guard().ok()) return 1;
              if (!shows(*shared)) return 2;
              // The file is cut in the middle of a look: an error and no signal.
              const auto lost = shared->show(kPart, {}, [&](ByteView seen) {
                if (::truncate(path_.c_str(), 8192) != 0) ::_exit(3);
                volatile unsigned sum = 0;
                for (const std::byte byte : seen) sum = sum + static_cast<unsigned>(byte);
              });
              if (lost.ok() || lost.error().code != ErrorCode::kChanged) return 4;
              if (shows(*shared)) return 5;
              support::write_file(path_, bytes_);
              if (!shows(*shared)) return 6;
              (void)::signal(SIGBUS, SIG_DFL);
              return shows(*shared) ? 7 : 0;
            }),
            0);
}

TEST_F(AStillFile, AWalkLooksAtEveryByteInOrderWhateverTheWay) {
  const auto shared = duplicate_for_reading(file_->descriptor()).value();
  for (const OsFile* file : {file_.get(), shared.get()}) {
    Bytes seen;
    std::uint64_t counted = 0;
    const auto take = [&](ByteView piece) { seen.insert(seen.end(), piece.begin(), piece.end()); };
    ASSERT_TRUE(is_ok(look_through(*file, {1, kSize - 1}, take, [&](std::uint64_t size) -> Status {
      counted += size;
      return Done{};
    })));
    EXPECT_TRUE(is_part(seen, {1, kSize - 1}));
    EXPECT_EQ(counted, kSize - 1);

    int pieces = 0;
    const auto stopped = look_through(
        *file, {0, kSize}, [](ByteView) {},
        [&](std::uint64_t) -> Status {
          ++pieces;
          return Error{ErrorCode::kCancelled, "enough"};
        });
    EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(pieces, 1);
    const auto behind = look_through(
        *file, {kSize - 100, 101}, [](ByteView) {}, [](std::uint64_t) -> Status { return Done{}; });
    EXPECT_EQ(behind.error().code, ErrorCode::kTruncated);
  }
}

}  // namespace still_file_test
}  // namespace fatctx::mapping
