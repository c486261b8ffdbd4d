#include "mapping/os_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "mapping/file_section.h"
#include "mapping/filesystem_kind.h"
#include "mapping/os_file_win32.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace os_file_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::TempDir;

class OsFileTest : public testing::Test {
 protected:
  OsFileTest() : path_(folder_.file("file")), content_(support::pattern(100'001, 3)) {
    support::write_file(path_, content_);
  }
  [[nodiscard]] Win32File writable(const std::string& name) const {
    return Win32File(
        UniqueHandle(::CreateFileW(wide_path(folder_.file(name)).value().c_str(), GENERIC_READ | GENERIC_WRITE,
                                   FILE_SHARE_READ, nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr)),
        "m.fatctx");
  }

  TempDir folder_;
  std::string path_;
  Bytes content_;
};

DWORD open_handles() {
  DWORD count = 0;
  (void)::GetProcessHandleCount(::GetCurrentProcess(), &count);
  return count;
}

TEST_F(OsFileTest, ReadsWhatIsThereAndSaysWhatIsNot) {
  const auto file = open_for_reading(path_).value();
  Bytes read(1000);
  for (const std::uint64_t offset : {0ULL, 1ULL, 65'535ULL, 99'001ULL}) {
    ASSERT_TRUE(is_ok(file->read_at(offset, read)));
    EXPECT_TRUE(std::equal(read.begin(), read.end(), content_.begin() + static_cast<long>(offset)));
  }
  const auto cut = file->read_at(99'500, read);
  ASSERT_TRUE(fails_with(cut, ErrorCode::kTruncated));
  EXPECT_EQ(cut.error().where.file_offset, 100'001U);
  EXPECT_TRUE(fails_with(file->read_at(std::uint64_t{1} << 40, read), ErrorCode::kTruncated));
  EXPECT_TRUE(is_ok(file->read_at(100'001, {})));
}

TEST_F(OsFileTest, WritesBehind4GiB) {
  constexpr std::uint64_t kFar = (std::uint64_t{5} << 30) + 12'345;
  Win32File file = writable("far");
  DWORD ignored = 0;  // without this call, the system fills the gap with zeros
  (void)::DeviceIoControl(file.handle(), 0x000900C4 /* FSCTL_SET_SPARSE */, nullptr, 0, nullptr, 0, &ignored, nullptr);

  ASSERT_TRUE(is_ok(file.write_at(kFar, content_)));
  ASSERT_TRUE(is_ok(file.sync()));

  EXPECT_EQ(file.identity().value().size, kFar + content_.size());
  Bytes read(content_.size());
  ASSERT_TRUE(is_ok(file.read_at(kFar, read)));
  EXPECT_EQ(read, content_);
  EXPECT_TRUE(is_ok(file.close()));
}

TEST_F(OsFileTest, AReservationNeverChangesTheSize) {
  Win32File file = writable("reserved");
  ASSERT_TRUE(is_ok(file.write_at(0, content_)));

  ASSERT_TRUE(is_ok(file.allocate(1'000'000)));
  ASSERT_TRUE(is_ok(file.allocate(10)));

  EXPECT_EQ(file.identity().value().size, content_.size());
  EXPECT_TRUE(std::ranges::equal(support::read_file(folder_.file("reserved")), content_));
}

TEST_F(OsFileTest, WritingThroughAHandleForReadingIsAnErrorWithItsNumber) {
  const auto file = open_for_reading(path_).value();
  const auto status = file->write_at(7, content_);
  ASSERT_TRUE(fails_with(status, ErrorCode::kIo));
  EXPECT_EQ(status.error().where.os_error, ERROR_ACCESS_DENIED);
  EXPECT_EQ(status.error().where.file_offset, 7U);
}

TEST_F(OsFileTest, OneFileHasOneIdentityByEveryNameAndHandle) {
  support::write_file(folder_.file("other"), content_);
  std::filesystem::create_hard_link(path_, folder_.file("link"));
  const auto file = open_for_reading(path_).value();
  const FileIdentity id = file->identity().value();

  EXPECT_TRUE(id.regular);
  EXPECT_EQ(id.size, content_.size());
  EXPECT_NE(id.inode, 0U);
  EXPECT_EQ(stat_path(folder_.file("link")).value(), id);
  EXPECT_EQ(stat_descriptor(file->descriptor()).value(), id);
  const FileIdentity other = stat_path(folder_.file("other")).value();
  EXPECT_EQ(other.device, id.device);
  EXPECT_NE(other.inode, id.inode);
  EXPECT_GT(id.modified.seconds, 1'700'000'000) << "counted from 1970";
  EXPECT_LT(id.modified.nanoseconds, 1'000'000'000);
}

TEST_F(OsFileTest, ARewriteShows) {
  const FileIdentity before = stat_path(path_).value();
  ::Sleep(30);
  support::write_file(path_, support::pattern(100'001, 4));
  const FileIdentity after = stat_path(path_).value();
  EXPECT_EQ(before.inode, after.inode);
  EXPECT_FALSE(before == after);
}

TEST_F(OsFileTest, ADescriptorIsAHandleAndStaysTheCallers) {
  auto first = open_for_reading(path_).value();

  auto second = duplicate_for_reading(first->descriptor());
  ASSERT_TRUE(is_ok(second));
  EXPECT_NE(second.value()->descriptor(), first->descriptor());
  first.reset();

  Bytes read(100);
  ASSERT_TRUE(is_ok(second.value()->read_at(5, read)));
  EXPECT_TRUE(std::equal(read.begin(), read.end(), content_.begin() + 5));
}

TEST_F(OsFileTest, DescriptorsThatAreNoneAreRefused) {
  auto file = open_for_reading(path_).value();
  const int closed = file->descriptor();
  file.reset();
  for (const int bad : {-1, 0, closed, 0x7ffffff0}) {
    EXPECT_TRUE(fails_with(duplicate_for_reading(bad), ErrorCode::kInvalidArgument)) << bad;
    EXPECT_TRUE(fails_with(stat_descriptor(bad), ErrorCode::kInvalidArgument)) << bad;
  }
}

TEST_F(OsFileTest, PipesAreNoRegularFiles) {
  HANDLE read_end = nullptr;
  HANDLE write_end = nullptr;
  ASSERT_NE(::CreatePipe(&read_end, &write_end, nullptr, 0), 0);
  const UniqueHandle reading(read_end);
  const UniqueHandle writing(write_end);
  EXPECT_FALSE(stat_descriptor(descriptor_of(read_end)).value().regular);
}

TEST_F(OsFileTest, OthersMayRenameAndRemoveAnOpenFile) {
  const auto file = open_for_reading(path_).value();
  std::filesystem::rename(path_, folder_.file("moved"));
  EXPECT_TRUE(fails_with(open_for_reading(path_), ErrorCode::kNotFound));
  std::filesystem::remove(folder_.file("moved"));

  Bytes read(100);
  ASSERT_TRUE(is_ok(file->read_at(0, read)));
  EXPECT_TRUE(std::equal(read.begin(), read.end(), content_.begin()));
}

TEST_F(OsFileTest, AFileThatSomebodyDoesNotShareIsLocked) {
  const UniqueHandle alone(::CreateFileW(wide_path(path_).value().c_str(), GENERIC_READ, 0, nullptr, OPEN_EXISTING,
                                         FILE_ATTRIBUTE_NORMAL, nullptr));
  ASSERT_TRUE(alone.valid());
  EXPECT_TRUE(fails_with(open_for_reading(path_), ErrorCode::kLocked));
}

TEST_F(OsFileTest, FailuresLeakNoHandle) {
  (void)open_for_reading(path_).ok();
  const DWORD before = open_handles();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(open_for_reading(path_).ok());
    EXPECT_FALSE(open_for_reading(folder_.file("missing")).ok());
    EXPECT_TRUE(stat_path(path_).ok());
    EXPECT_FALSE(duplicate_for_reading(0).ok());
  }
  EXPECT_EQ(open_handles(), before);
}

TEST_F(OsFileTest, TheKindOfItsFilesystemIsKnownAndAHandleThatIsNoneIsNotTrusted) {
  const auto file = open_for_reading(path_).value();
  const FilesystemKind kind = filesystem_kind(file->descriptor());
  EXPECT_NE(kind.name, "unknown");
  EXPECT_FALSE(kind.remote) << kind.name;
  EXPECT_TRUE(filesystem_kind(-1).remote);
  EXPECT_EQ(filesystem_kind_of_name("NTFS").name, "ntfs");
  EXPECT_FALSE(filesystem_kind_of_name("NTFS").remote);
  EXPECT_EQ(filesystem_kind_of_name("ReFS").name, "refs");
  EXPECT_TRUE(filesystem_kind_of_name("SMBFS").remote);
  EXPECT_EQ(filesystem_kind_of_name("").name, "unknown");
}

}  // namespace os_file_test
}  // namespace fatctx::mapping
