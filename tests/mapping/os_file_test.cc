#include "mapping/os_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "mapping/os_file_posix.h"
#include "support/process_files.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::mapping {
namespace os_file_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::TempDir;

class OsFileTest : public testing::Test {
 protected:
  OsFileTest() : path_(folder_.file("file")), content_(support::pattern(10'000, 3)) {
    support::write_file(path_, content_);
  }

  TempDir folder_;
  std::string path_;
  Bytes content_;
};

TEST_F(OsFileTest, ReadsAnyRangeOfItsBytes) {
  const auto file = open_for_reading(path_).value();
  for (const ByteRange range : {ByteRange{0, 10'000}, ByteRange{0, 0}, ByteRange{9'999, 1}, ByteRange{4'095, 3}}) {
    Bytes buffer(static_cast<std::size_t>(range.size));
    ASSERT_TRUE(is_ok(file->read_at(range.offset, buffer)));
    EXPECT_TRUE(std::equal(buffer.begin(), buffer.end(), content_.begin() + static_cast<std::ptrdiff_t>(range.offset)));
  }
}

TEST_F(OsFileTest, AReadBehindTheEndIsTruncatedWithItsPlace) {
  const auto file = open_for_reading(path_).value();
  Bytes buffer(100);

  const auto across = file->read_at(9'950, buffer);
  const auto behind = file->read_at(1'000'000, buffer);

  ASSERT_TRUE(fails_with(across, ErrorCode::kTruncated));
  EXPECT_EQ(across.error().where.file_offset, 10'000U) << "where the file ends";
  ASSERT_TRUE(fails_with(behind, ErrorCode::kTruncated));
  EXPECT_EQ(behind.error().where.file_offset, 1'000'000U);
  EXPECT_TRUE(fails_with(file->read_at(UINT64_MAX - 50, buffer), ErrorCode::kInvalidArgument));
}

TEST_F(OsFileTest, GoesOnAfterShortReads) {
  // The kernel returns files in /proc page by page, so a large read is always short.
  std::ifstream stream("/proc/kallsyms", std::ios::binary);
  const std::string expected((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (expected.size() < 100'000) GTEST_SKIP() << "this kernel shows no symbols";
  const auto file = open_for_reading("/proc/kallsyms").value();
  std::string found(100'000, '\0');

  const auto status = file->read_at(0, std::as_writable_bytes(std::span(found)));

  ASSERT_TRUE(is_ok(status));
  EXPECT_TRUE(expected.starts_with(found));
}

TEST_F(OsFileTest, ReadingADescriptorThatIsForWritingIsAnIoError) {
  const PosixFile file(UniqueFd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC)), "the file");
  Bytes buffer(10);

  const auto status = file.read_at(0, buffer);

  ASSERT_TRUE(fails_with(status, ErrorCode::kIo));
  EXPECT_EQ(status.error().where.os_error, EBADF);
  EXPECT_EQ(status.error().where.file_offset, 0U);
}

TEST_F(OsFileTest, WritesAnywhereAndReadsItBack) {
  PosixFile file(UniqueFd(::open(folder_.file("new").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)), "the new file");

  ASSERT_TRUE(is_ok(file.allocate(50'000)));
  EXPECT_EQ(file.identity().value().size, 0U) << "reserving does not change the size";
  ASSERT_TRUE(is_ok(file.write_at(20'000, content_)));
  ASSERT_TRUE(is_ok(file.write_at(40'000, {})));
  ASSERT_TRUE(is_ok(file.sync()));

  EXPECT_EQ(file.identity().value().size, 30'000U);
  Bytes buffer(10'000);
  ASSERT_TRUE(is_ok(file.read_at(20'000, buffer)));
  EXPECT_EQ(buffer, content_);
  ASSERT_TRUE(is_ok(file.read_at(0, buffer)));
  EXPECT_EQ(buffer, Bytes(10'000)) << "holes are zeros";
  EXPECT_TRUE(is_ok(file.close()));
}

TEST_F(OsFileTest, WritingAReadOnlyDescriptorIsAnIoErrorAndAFullDeviceIsNoSpace) {
  PosixFile read_only(UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)), "the file");
  EXPECT_TRUE(fails_with(read_only.write_at(0, content_), ErrorCode::kIo));

  PosixFile full(UniqueFd(::open("/dev/full", O_WRONLY | O_CLOEXEC)), "the device");
  EXPECT_TRUE(fails_with(full.write_at(0, content_), ErrorCode::kNoSpace));
}

TEST_F(OsFileTest, AnIdentityTellsFilesAndChangesApart) {
  const auto file = open_for_reading(path_).value();
  const FileIdentity before = file->identity().value();
  EXPECT_EQ(before, stat_path(path_).value());
  EXPECT_EQ(before, stat_descriptor(file->descriptor()).value());
  EXPECT_EQ(before.size, 10'000U);
  EXPECT_TRUE(before.regular);
  EXPECT_NE(before, stat_path(folder_.path()).value());

  std::filesystem::resize_file(path_, 9'999);

  const FileIdentity after = file->identity().value();
  EXPECT_NE(before, after);
  EXPECT_EQ(before.inode, after.inode);
  EXPECT_EQ(after.size, 9'999U);
}

TEST_F(OsFileTest, ADuplicateOutlivesTheDescriptorItCameFrom) {
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  const auto file = duplicate_for_reading(descriptor).value();
  ::close(descriptor);
  Bytes buffer(10);

  EXPECT_TRUE(is_ok(file->read_at(0, buffer)));
  EXPECT_NE(file->descriptor(), descriptor);
  EXPECT_NE(::fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC, 0) << "not handed on by exec";
  EXPECT_TRUE(fails_with(duplicate_for_reading(descriptor), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(duplicate_for_reading(-1), ErrorCode::kInvalidArgument));
}

TEST_F(OsFileTest, NothingThatIsNoRegularFileBlocksOrPassesForOne) {
  ASSERT_EQ(::mkfifo(folder_.file("fifo").c_str(), 0600), 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  folder_.file("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(listener);

  for (const std::string& path :
       {folder_.path(), folder_.file("fifo"), std::string("/dev/null"), std::string("/dev/zero")}) {
    const auto file = open_for_reading(path);
    ASSERT_TRUE(is_ok(file)) << path;
    EXPECT_FALSE(file.value()->identity().value().regular) << path;
    EXPECT_FALSE(stat_path(path).value().regular) << path;
  }
  EXPECT_TRUE(fails_with(open_for_reading(folder_.file("socket")), ErrorCode::kNotRegularFile));
}

TEST_F(OsFileTest, ALinkIsFollowedUnlessToldOtherwise) {
  std::filesystem::create_symlink("file", folder_.file("link"));
  std::filesystem::create_symlink("nowhere", folder_.file("dangling"));
  std::filesystem::create_symlink("loop", folder_.file("loop"));
  const OpenFlags no_links = {.follow_symlinks = false};

  EXPECT_TRUE(is_ok(open_for_reading(folder_.file("link"))));
  EXPECT_EQ(stat_path(folder_.file("link")).value(), stat_path(path_).value());
  EXPECT_TRUE(is_ok(open_for_reading(path_, no_links)));
  EXPECT_TRUE(fails_with(open_for_reading(folder_.file("link"), no_links), ErrorCode::kNotRegularFile));
  EXPECT_FALSE(stat_path(folder_.file("link"), no_links).value().regular);
  EXPECT_TRUE(fails_with(open_for_reading(folder_.file("dangling")), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(open_for_reading(folder_.file("loop")), ErrorCode::kNotRegularFile));
}

TEST_F(OsFileTest, PathsThatLeadNowhereAreNotFound) {
  EXPECT_TRUE(fails_with(open_for_reading(""), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(open_for_reading(folder_.file("missing")), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(open_for_reading(path_ + "/below"), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(open_for_reading(std::string("a\0b", 3)), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(stat_path(folder_.file("missing")), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(stat_descriptor(-1), ErrorCode::kIo));
}

TEST_F(OsFileTest, WithoutFreeDescriptorsTheErrorNamesTheLimit) {
  // The undefined-behaviour sanitizer opens a pipe when it meets a class for the first time, just when none can be had:
  // no member of the fixture meanwhile, and every class of an error met beforehand.
  const std::string path = path_;
  ASSERT_FALSE(open_for_reading(folder_.file("missing")).ok());
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);

  const auto file = open_for_reading(path);

  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(fails_with(file, ErrorCode::kNoResource));
  EXPECT_NE(file.error().message.find("ulimit -n"), std::string::npos);
}

TEST_F(OsFileTest, FailedOpensLeakNoDescriptor) {
  const std::size_t before = support::open_descriptors();
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(open_for_reading(folder_.file("missing")).ok());
    EXPECT_FALSE(duplicate_for_reading(-1).ok());
    EXPECT_TRUE(open_for_reading(path_).ok());
  }
  EXPECT_EQ(support::open_descriptors(), before);
}

TEST(UniqueFd, ClosesOnceAndMovesItsOwnership) {
  const std::size_t before = support::open_descriptors();
  {
    UniqueFd a(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    UniqueFd b = std::move(a);
    UniqueFd c;
    EXPECT_FALSE(c.valid());
    c = std::move(b);
    EXPECT_TRUE(c.valid());
    EXPECT_EQ(support::open_descriptors(), before + 1);
    EXPECT_EQ(c.reset(), 0);
    EXPECT_EQ(c.reset(), 0) << "closed already";
    EXPECT_EQ(support::open_descriptors(), before);
  }
  EXPECT_EQ(UniqueFd(100'000).reset(), EBADF);
}

}  // namespace os_file_test
}  // namespace fatctx::mapping
