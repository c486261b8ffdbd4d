// Bringing pages in, keeping them, giving them back, and counting them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "mapping/background_thread.h"
#include "mapping/bus_guard.h"
#include "mapping/map_count.h"
#include "mapping/mapped_region.h"
#include "mapping/page_advice.h"
#include "mapping/page_lock.h"
#include "mapping/page_range.h"
#include "mapping/residency.h"
#include "mapping/windows_api.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace pages_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class Pages : public testing::Test {
 protected:
  Pages() : content_(support::pattern(kPages * 4096 + 100, 6)) {
    support::write_file(folder_.file("mapped"), content_);
    file_ = open_for_reading(folder_.file("mapped")).value();
    region_ = map_file(*file_, content_.size()).value();
  }
  [[nodiscard]] ByteView bytes() const { return region_->bytes(); }
  void touch(ByteView range) const {
    for (std::size_t at = 0; at < range.size(); at += 4096) (void)*static_cast<const volatile std::byte*>(&range[at]);
  }

  static constexpr std::size_t kPages = 32;
  support::TempDir folder_;
  Bytes content_;
  std::unique_ptr<OsFile> file_;
  std::unique_ptr<MappedRegion> region_;
};

TEST_F(Pages, PopulateReadsTheRangeAndLearnsOfErrors) {
  const auto method = populate(*file_, bytes(), {10, 50'000});
  ASSERT_TRUE(is_ok(method));
  EXPECT_EQ(method.value(), PopulateMethod::kReadAhead) << "Windows puts no page into the process unasked";
  EXPECT_TRUE(is_ok(populate(*file_, bytes(), {0, 0})));
  // Windows has no file that ends before its map, so the test states a larger size.
  const auto behind = populate_at(*file_, bytes().first(8192), content_.size() - 4096);
  ASSERT_TRUE(fails_with(behind, ErrorCode::kChanged));
  EXPECT_EQ(behind.error().where.file_offset, content_.size());
}

TEST_F(Pages, TouchedBytesAreCounted) {
  touch(bytes());
  EXPECT_EQ(resident_bytes(bytes()).value(), content_.size());
  EXPECT_EQ(resident_bytes(bytes().subspan(4095, 2)).value(), 2U);
  EXPECT_EQ(resident_bytes(bytes().subspan(kPages * 4096)).value(), 100U) << "the last page is not whole";
  EXPECT_EQ(resident_bytes(bytes().first(0)).value(), 0U);
  const MapUse use = use_of_map(bytes()).value();
  EXPECT_EQ(use.resident, (kPages + 1) * 4096);
  EXPECT_LE(use.proportional, use.resident);
}

TEST_F(Pages, GivenBackPagesComeAgainFromTheFile) {
  touch(bytes());
  const auto dropped = drop_pages(bytes(), {4096 * 3 + 1, 4096 * 10});
  ASSERT_TRUE(is_ok(dropped));
  EXPECT_EQ(dropped.value(), 9 * 4096U) << "the first and the last page hold bytes of others";
  EXPECT_EQ(drop_pages(bytes(), {1, 4096}).value(), 0U);
  EXPECT_TRUE(std::ranges::equal(bytes(), content_));
}

TEST_F(Pages, LockedPagesAreNotGivenBackUntilTheLastLockIsGone) {
  std::optional<PageLock> first = PageLock::of(bytes().subspan(4096, 2 * 4096)).value();
  std::optional<PageLock> second = PageLock::of(bytes().subspan(2 * 4096, 4096)).value();
  const ByteRange all{0, content_.size()};
  EXPECT_TRUE(fails_with(drop_pages(bytes(), all), ErrorCode::kOperationNotPermitted));
  first.reset();
  EXPECT_TRUE(fails_with(drop_pages(bytes(), all), ErrorCode::kOperationNotPermitted));
  EXPECT_TRUE(is_ok(drop_pages(bytes(), {4096, 4096}))) << "nobody holds this one any more";
  second.reset();
  EXPECT_TRUE(is_ok(drop_pages(bytes(), all)));
}

TEST_F(Pages, TheSystemLimitsNoMapsAndNeedsNoGuard) {
  EXPECT_FALSE(count_maps().has_value());
  const auto guard = install_bus_guard();
  ASSERT_TRUE(fails_with(guard, ErrorCode::kUnsupported));
  EXPECT_FALSE(bus_guard_installed());
  EXPECT_FALSE(region_->lost());
}

TEST_F(Pages, AMappedFileIsNotCut) {
  const auto cut = [&] {
    std::error_code error;
    std::filesystem::resize_file(folder_.file("mapped"), 100, error);
    return !error;
  };
  EXPECT_FALSE(cut()) << "what the missing guard relies on";
  region_.reset();
  EXPECT_TRUE(cut());
}

TEST(BackgroundThread, DoesTheWorkAndIsWaitedFor) {
  std::atomic<int> done{0};
  {
    const auto thread = BackgroundThread::start([&] {
      ::Sleep(20);
      done = 1;
    });
    ASSERT_TRUE(is_ok(thread));
  }
  EXPECT_EQ(done, 1);
  const auto thread = BackgroundThread::start([&] { done = 2; }).value();
  EXPECT_TRUE(thread->join());
  EXPECT_EQ(done, 2);
}

}  // namespace pages_test
}  // namespace fatctx::mapping
