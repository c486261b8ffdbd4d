#include "mapping/page_lock.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <optional>

#include "mapping/residency.h"
#include "support/child_process.h"
#include "support/mapped_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::mapping {
namespace page_lock_test {

using support::is_ok;
using support::TempDir;

class PageLocks : public testing::Test {
 protected:
  PageLocks() : path_(folder_.file("mapped")) {
    support::write_file(path_, support::pattern(32 * page_size(), 6));
    const auto file = open_for_reading(path_).value();
    region_ = map_file(*file, 32 * page_size()).value();
  }
  void SetUp() override {
    if (!support::locking_works()) GTEST_SKIP() << "pages cannot be locked here";
  }
  [[nodiscard]] ByteView pages(std::size_t first, std::size_t count) const {
    return region_->bytes().subspan(first * page_size(), count * page_size());
  }
  [[nodiscard]] std::uint64_t locked_pages() const { return use_of_map(region_->bytes()).value().locked / page_size(); }

  TempDir folder_;
  std::string path_;
  std::unique_ptr<MappedRegion> region_;
};

TEST_F(PageLocks, HoldThePagesAroundTheirBytesUntilTheyGo) {
  EXPECT_EQ(locked_pages(), 0U);
  {
    const auto lock = PageLock::of(region_->bytes().subspan(page_size() + 5, 3 * page_size()));

    ASSERT_TRUE(is_ok(lock));
    EXPECT_EQ(locked_pages(), 4U);
    EXPECT_EQ(resident_bytes(pages(1, 4)).value(), 4 * page_size()) << "a locked page is in memory";
  }
  EXPECT_EQ(locked_pages(), 0U);
}

// The system's own locks do not count: the first unlock of a page undoes them all.
TEST_F(PageLocks, CountWhereTheyOverlap) {
  std::optional<PageLock> wide = PageLock::of(pages(0, 10)).value();
  std::optional<PageLock> left = PageLock::of(pages(2, 2)).value();
  std::optional<PageLock> right = PageLock::of(pages(6, 8)).value();
  std::optional<PageLock> same = PageLock::of(pages(2, 2)).value();
  EXPECT_EQ(locked_pages(), 14U);

  wide.reset();
  EXPECT_EQ(locked_pages(), 10U);
  left.reset();
  EXPECT_EQ(locked_pages(), 10U) << "another lock holds the same pages";
  same.reset();
  EXPECT_EQ(locked_pages(), 8U);
  right.reset();
  EXPECT_EQ(locked_pages(), 0U);
}

TEST_F(PageLocks, MoveAndDoNotUndoWhatTheyNoLongerHold) {
  PageLock first = PageLock::of(pages(0, 1)).value();
  PageLock second(std::move(first));
  EXPECT_EQ(locked_pages(), 1U);

  second = PageLock::of(pages(4, 2)).value();

  EXPECT_EQ(locked_pages(), 2U);
}

TEST_F(PageLocks, DoNothingInAForkedChild) {
  std::optional<PageLock> lock = PageLock::of(pages(0, 4)).value();

  const int result = support::in_child([&] {
    if (locked_pages() != 0) return 1;
    const auto own = PageLock::of(pages(0, 2));
    if (!own.ok() || locked_pages() != 2) return 2;
    lock.reset();
    return locked_pages() == 2 ? 0 : 3;
  });

  EXPECT_EQ(result, 0);
  EXPECT_EQ(locked_pages(), 4U);
}

// Runs without privileges and with a limit of two pages.
TEST_F(PageLocks, ARefusalNamesTheLimitAndTheAmountAndLeavesNothingLocked) {
  const int result = support::in_child([&] {
    const rlimit limit{2 * page_size(), 2 * page_size()};
    if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return support::kChildSkipped;
    if (::geteuid() == 0 && (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0)) {
      return support::kChildSkipped;
    }
    const auto refused = PageLock::of(pages(0, 8));
    if (refused.ok() || refused.error().code != ErrorCode::kNoResource) return 1;
    const std::string& message = refused.error().message;
    if (message.find("RLIMIT_MEMLOCK") == std::string::npos) return 2;
    if (message.find(std::to_string(8 * page_size())) == std::string::npos) return 3;
    if (message.find(std::to_string(2 * page_size())) == std::string::npos) return 4;
    const auto small = PageLock::of(pages(0, 2));
    return small.ok() ? 0 : 5;
  });

  if (result == support::kChildSkipped) GTEST_SKIP() << "the limit cannot be lowered here";
  EXPECT_EQ(result, 0);
}

}  // namespace page_lock_test
}  // namespace fatctx::mapping
