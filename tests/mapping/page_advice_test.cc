// Bringing pages in and giving them back. Tests that change the system for good run in a child process.
#include "mapping/page_advice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "mapping/page_lock.h"
#include "mapping/residency.h"
#include "mapping/windowed_file.h"
#include "support/child_process.h"
#include "support/mapped_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::mapping {
namespace page_advice_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::TempDir;

class PageAdvice : public testing::Test {
 protected:
  PageAdvice() : path_(folder_.file("mapped")), content_(support::pattern(kPages * page_size(), 5)) {
    support::write_file(path_, content_);
    support::drop_from_cache(path_);
    file_ = open_for_reading(path_).value();
    region_ = map_file(*file_, content_.size()).value();
  }
  [[nodiscard]] ByteView bytes() const { return region_->bytes(); }
  [[nodiscard]] std::uint64_t resident(ByteRange range) const {
    return resident_bytes(slice(bytes(), range).value()).value();
  }
  // Makes advice about the page at `offset` fail from now on. Only for a child process.
  [[nodiscard]] bool fail_advice_at(std::uint64_t offset, int error_number) const {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes().data()) + offset;
    return support::fail_call_on(SYS_madvise, static_cast<int>(static_cast<std::uint32_t>(address)), error_number);
  }

  static constexpr std::size_t kPages = 256;
  TempDir folder_;
  std::string path_;
  Bytes content_;
  std::unique_ptr<OsFile> file_;
  std::unique_ptr<MappedRegion> region_;
};

// Shows S5.7.
TEST_F(PageAdvice, BringsInTheWholeRangeAndNothingFarFromIt) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const std::string path = folder_.file("sparse");
  support::write_file(path, {});
  std::filesystem::resize_file(path, 64 * kMiB);
  const auto file = open_for_reading(path).value();
  const auto region = map_file(*file, 64 * kMiB).value();
  const ByteRange range{32 * kMiB + 100, 10 * page_size()};

  const auto method = populate(*file, region->bytes(), range);

  ASSERT_TRUE(is_ok(method));
  EXPECT_EQ(method.value(), PopulateMethod::kPopulate) << "this kernel is older than 5.14";
  EXPECT_EQ(resident_bytes(slice(region->bytes(), range).value()).value(), range.size);
  // The system also maps neighbors that are in its cache, up to the size of a large page.
  EXPECT_EQ(resident_bytes(region->bytes().first(28 * kMiB)).value(), 0U);
  EXPECT_EQ(resident_bytes(region->bytes().subspan(36 * kMiB)).value(), 0U);
}

TEST_F(PageAdvice, NothingIsDoneForNoBytes) {
  EXPECT_TRUE(is_ok(populate(*file_, bytes(), {0, 0})));
  EXPECT_TRUE(is_ok(populate(*file_, bytes(), {content_.size(), 0})));
  EXPECT_EQ(drop_pages(bytes(), {content_.size(), 0}).value(), 0U);
  EXPECT_EQ(resident({0, content_.size()}), 0U);
}

TEST_F(PageAdvice, AFileThatWasCutIsAnErrorWithTheFirstLostByteAndNoSignal) {
  for (const std::size_t kept : {100U, 37U, 1U, 0U}) {
    std::filesystem::resize_file(path_, kept * page_size());

    const auto method = populate(*file_, bytes(), {10, content_.size() - 10});

    ASSERT_TRUE(fails_with(method, ErrorCode::kChanged)) << kept;
    EXPECT_EQ(method.error().where.file_offset, std::max<std::uint64_t>(kept * page_size(), 10));
  }
}

TEST_F(PageAdvice, OffsetsInErrorsCountFromTheFirstByteOfAPart) {
  const std::uint64_t base = 3 * page_size() + 512;
  const WindowedFile part(open_for_reading(path_).value(), base, 0);
  const auto region = map_file(part, content_.size() - base).value();
  std::filesystem::resize_file(path_, 10 * page_size());

  const auto method = populate(part, region->bytes(), {0, region->bytes().size()});

  ASSERT_TRUE(fails_with(method, ErrorCode::kChanged));
  EXPECT_EQ(method.error().where.file_offset, 10 * page_size() - base);
}

TEST_F(PageAdvice, APageThatTheSystemCannotReadIsAnErrorThatNamesIt) {
  for (const int error_number : {EFAULT, EHWPOISON, EIO}) {
    // A fault on a page that is readable a moment later: the file was cut and grown again.
    const ErrorCode code = error_number == EFAULT ? ErrorCode::kChanged : ErrorCode::kIo;
    const int result = support::in_child([&] {
      if (!fail_advice_at(0, error_number)) return support::kChildSkipped;
      const auto method = populate(*file_, bytes(), {5, 100 * page_size()});
      if (method.ok() || method.error().code != code) return 1;
      if (method.error().where.file_offset != 5U || method.error().where.os_error != error_number) return 2;
      return 0;
    });
    if (result == support::kChildSkipped) GTEST_SKIP() << "system calls cannot be made to fail here";
    EXPECT_EQ(result, 0) << error_number;
  }
}

TEST_F(PageAdvice, LackOfMemoryIsNoResource) {
  const int result = support::in_child([&] {
    if (!fail_advice_at(0, ENOMEM)) return support::kChildSkipped;
    const auto method = populate(*file_, bytes(), {0, page_size()});
    return method.ok() || method.error().code != ErrorCode::kNoResource ? 1 : 0;
  });
  if (result == support::kChildSkipped) GTEST_SKIP() << "system calls cannot be made to fail here";
  EXPECT_EQ(result, 0);
}

// A file on a disk that fails behind `limit`.
class FailingFile final : public OsFile {
 public:
  FailingFile(const OsFile& file, std::uint64_t limit) : file_(file), limit_(limit) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    if (offset + buffer.size() <= limit_) return file_.read_at(offset, buffer);
    return Error{ErrorCode::kIo, "cannot read the file", {.file_offset = std::max(offset, limit_), .os_error = EIO}};
  }
  Status write_at(std::uint64_t, ByteView) override { return Done{}; }
  Status allocate(std::uint64_t) override { return Done{}; }
  Status sync() override { return Done{}; }
  Result<FileIdentity> identity() const override { return file_.identity(); }
  int descriptor() const noexcept override { return file_.descriptor(); }

 private:
  const OsFile& file_;
  std::uint64_t limit_;
};

TEST_F(PageAdvice, AnOldKernelReadsAheadWithoutTouchingThePagesAndLearnsOfErrors) {
  const ByteRange range{8 * page_size(), 200 * page_size()};
  const int result = support::in_child([&] {
    if (!fail_advice_at(range.offset, EINVAL)) return support::kChildSkipped;
    const auto method = populate(*file_, bytes(), range);
    if (!method.ok() || method.value() != PopulateMethod::kReadAhead) return 1;
    if (resident(range) != 0) return 2;
    if (support::cached_bytes(path_) < range.size) return 3;

    const FailingFile failing(*file_, 100 * page_size());
    const auto failed = populate(failing, bytes(), range);
    if (failed.ok() || failed.error().code != ErrorCode::kIo || failed.error().where.os_error != EIO) return 4;
    if (failed.error().where.file_offset != 100 * page_size()) return 5;

    std::filesystem::resize_file(path_, 50 * page_size());
    const auto cut = populate(*file_, bytes(), range);
    return cut.ok() || cut.error().code != ErrorCode::kChanged ? 6 : 0;
  });
  if (result == support::kChildSkipped) GTEST_SKIP() << "system calls cannot be made to fail here";
  EXPECT_EQ(result, 0);
}

TEST_F(PageAdvice, GivesBackWholePagesInsideTheRangeOnlyAndTheyComeBack) {
  (void)support::touch(bytes());
  const ByteRange range{10 * page_size() + 1, 20 * page_size()};

  const auto dropped = drop_pages(bytes(), range);

  ASSERT_TRUE(is_ok(dropped));
  EXPECT_EQ(dropped.value(), 19 * page_size()) << "the first and the last page hold bytes of others";
  EXPECT_EQ(resident({0, 11 * page_size()}), 11 * page_size());
  EXPECT_EQ(resident({11 * page_size(), 19 * page_size()}), 0U);
  EXPECT_EQ(resident({30 * page_size(), page_size()}), page_size());
  EXPECT_TRUE(std::equal(bytes().begin(), bytes().end(), content_.begin()));
}

TEST_F(PageAdvice, ARangeWithoutAWholePageKeepsItsPage) {
  (void)support::touch(bytes());

  EXPECT_EQ(drop_pages(bytes(), {10, page_size()}).value(), 0U);
  EXPECT_EQ(drop_pages(bytes(), {page_size() + 1, page_size() - 2}).value(), 0U);

  EXPECT_EQ(resident({0, content_.size()}), content_.size());
}

TEST_F(PageAdvice, LockedPagesAreNotGivenBack) {
  if (!support::locking_works()) GTEST_SKIP() << "pages cannot be locked here";
  const auto lock = PageLock::of(bytes().subspan(5 * page_size(), page_size()));
  ASSERT_TRUE(is_ok(lock));

  const auto dropped = drop_pages(bytes(), {0, content_.size()});

  EXPECT_TRUE(fails_with(dropped, ErrorCode::kOperationNotPermitted));
}

TEST_F(PageAdvice, TheCacheForgetsWhatNobodyHasMapped) {
  if (support::cached_bytes(path_) != 0) GTEST_SKIP() << "this filesystem keeps its files in memory";
  (void)support::touch(bytes());
  ASSERT_EQ(support::cached_bytes(path_), content_.size());
  const ByteRange half{0, content_.size() / 2};

  ASSERT_TRUE(is_ok(drop_pages(bytes(), half)));
  drop_cache(*file_, half);

  EXPECT_LE(support::cached_bytes(path_), content_.size() / 2 + 16 * page_size());
  EXPECT_TRUE(std::equal(bytes().begin(), bytes().end(), content_.begin()));
}

}  // namespace page_advice_test
}  // namespace fatctx::mapping
