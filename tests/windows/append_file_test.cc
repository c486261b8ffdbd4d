// The tests of tests/mapping/append_file_test.cc, for Windows.
#include "mapping/append_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "mapping/os_file_win32.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace append_file_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class AppendFile : public testing::Test {
 protected:
  AppendFile() { support::write_file(path_, support::pattern(100, 1)); }
  const support::TempDir folder_;
  const std::string path_ = folder_.file("file");
};

TEST_F(AppendFile, ReadsAndWritesBehindItsEnd) {
  {
    const auto file = open_for_appending(path_).value();
    ASSERT_TRUE(is_ok(file->allocate(150)));
    EXPECT_EQ(file->identity().value().size, 100U);
    ASSERT_TRUE(is_ok(file->write_at(100, support::pattern(50, 2))));
    ASSERT_TRUE(is_ok(file->sync()));
    Bytes back(100);
    ASSERT_TRUE(is_ok(file->read_at(0, back)));
    EXPECT_EQ(back, support::pattern(100, 1));
  }
  Bytes expected = support::pattern(100, 1);
  const Bytes added = support::pattern(50, 2);
  expected.insert(expected.end(), added.begin(), added.end());
  EXPECT_TRUE(support::read_file(path_) == expected);
}

TEST_F(AppendFile, OneWriterAtATimeAlsoInOneProcess) {
  auto first = open_for_appending(path_);
  ASSERT_TRUE(is_ok(first));
  const auto second = open_for_appending(path_);
  ASSERT_TRUE(fails_with(second, ErrorCode::kLocked));
  EXPECT_EQ(second.error().where.os_error, ERROR_SHARING_VIOLATION);
  EXPECT_NE(second.error().message.find("try again"), std::string::npos) << second.error().message;
  { const auto reader = open_for_reading(path_); }  // closing another handle does not release the lock
  EXPECT_TRUE(fails_with(open_for_appending(path_), ErrorCode::kLocked));
  first.value().reset();
  EXPECT_TRUE(is_ok(open_for_appending(path_)));
}

TEST_F(AppendFile, ReadersAreNotKeptOutWhoeverCameFirst) {
  const auto before = open_for_reading(path_).value();
  const auto writer = open_for_appending(path_);
  ASSERT_TRUE(is_ok(writer));
  const auto after = open_for_reading(path_);
  ASSERT_TRUE(is_ok(after));
  ASSERT_TRUE(is_ok(writer.value()->write_at(100, support::pattern(50, 2))));
  Bytes seen(50);
  for (const OsFile* reader : {before.get(), after.value().get()}) {
    ASSERT_TRUE(is_ok(reader->read_at(100, seen)));
    EXPECT_EQ(seen, support::pattern(50, 2));
  }
}

TEST_F(AppendFile, AProgramThatWritesWithoutAskingKeepsItLocked) {
  const UniqueHandle writing(::CreateFileW(wide_path(path_).value().c_str(), GENERIC_WRITE,
                                           FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                           OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr));
  ASSERT_TRUE(writing.valid());
  EXPECT_TRUE(fails_with(open_for_appending(path_), ErrorCode::kLocked));
}

TEST_F(AppendFile, WhatIsNoFileOfItsOwnIsRefused) {
  EXPECT_TRUE(fails_with(open_for_appending(folder_.path()), ErrorCode::kNotRegularFile));
  EXPECT_TRUE(fails_with(open_for_appending(folder_.file("nothing")), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(open_for_appending(std::string("a\0b", 3)), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(open_for_appending("NUL"), ErrorCode::kNotRegularFile));
  std::error_code refused;
  std::filesystem::create_symlink(path_, folder_.file("link"), refused);
  if (refused) GTEST_SKIP() << "no links can be made here: " << refused.message();
  EXPECT_TRUE(fails_with(open_for_appending(folder_.file("link")), ErrorCode::kNotRegularFile));
}

TEST_F(AppendFile, AFileThatMayNotBeWrittenSaysSo) {
  const std::wstring wide = wide_path(path_).value();
  ASSERT_NE(::SetFileAttributesW(wide.c_str(), FILE_ATTRIBUTE_READONLY), 0);
  EXPECT_TRUE(fails_with(open_for_appending(path_), ErrorCode::kOperationNotPermitted));
  ASSERT_NE(::SetFileAttributesW(wide.c_str(), FILE_ATTRIBUTE_NORMAL), 0);
  EXPECT_TRUE(is_ok(open_for_appending(path_)));
}

TEST_F(AppendFile, AServersFileIsRefused) {
  EXPECT_TRUE(is_ok(check_local({.name = "ntfs"}, "m.fatctx")));
  const auto refused = check_local({.name = "smb", .remote = true}, "m.fatctx");
  ASSERT_TRUE(fails_with(refused, ErrorCode::kRemoteFilesystem));
  EXPECT_NE(refused.error().message.find("smb"), std::string::npos);
}

}  // namespace append_file_test
}  // namespace fatctx::mapping
