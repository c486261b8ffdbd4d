#include "mapping/append_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/child_process.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace append_file_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class AppendFile : public ::testing::Test {
 protected:
  AppendFile() { support::write_file(path_, Bytes(100, std::byte{1})); }
  const support::TempDir folder_;
  const std::string path_ = folder_.file("file");
};

TEST_F(AppendFile, ReadsAndWritesBehindItsEnd) {
  const auto file = open_for_appending(path_).value();
  ASSERT_TRUE(is_ok(file->write_at(100, Bytes(50, std::byte{2}))));
  ASSERT_TRUE(is_ok(file->sync()));
  EXPECT_EQ(file->identity().value().size, 150U);
  Bytes back(50);
  ASSERT_TRUE(is_ok(file->read_at(100, back)));
  EXPECT_EQ(back, Bytes(50, std::byte{2}));
}

TEST_F(AppendFile, OneWriterAtATimeAlsoInOneProcess) {
  auto first = open_for_appending(path_);
  ASSERT_TRUE(is_ok(first));
  EXPECT_TRUE(fails_with(open_for_appending(path_), ErrorCode::kLocked));
  const int in_child = support::in_child([&] {
    const auto second = open_for_appending(path_);
    return !second.ok() && second.error().code == ErrorCode::kLocked ? 0 : 1;
  });
  EXPECT_EQ(in_child, 0);
  { const auto reader = open_for_reading(path_); }  // closing another descriptor does not release the lock
  EXPECT_TRUE(fails_with(open_for_appending(path_), ErrorCode::kLocked));
  first.value().reset();
  EXPECT_TRUE(is_ok(open_for_appending(path_)));
}

TEST_F(AppendFile, ReadersAreNotKeptOut) {
  const auto writer = open_for_appending(path_);
  ASSERT_TRUE(is_ok(writer));
  EXPECT_TRUE(is_ok(open_for_reading(path_)));
}

TEST_F(AppendFile, WhatIsNoFileOfItsOwnIsRefused) {
  const std::string link = folder_.file("link");
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  EXPECT_TRUE(fails_with(open_for_appending(link), ErrorCode::kNotRegularFile));
  EXPECT_TRUE(fails_with(open_for_appending(folder_.path()), ErrorCode::kNotRegularFile));
  const std::string fifo = folder_.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(fails_with(open_for_appending(fifo), ErrorCode::kNotRegularFile));
  EXPECT_TRUE(fails_with(open_for_appending(folder_.file("nothing")), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(open_for_appending(std::string("a\0b", 3)), ErrorCode::kInvalidArgument));
}

TEST_F(AppendFile, AFileThatMayNotBeWrittenSaysSo) {
  if (::geteuid() == 0) {  // root may write anything: another user tries
    const int result = support::in_child([&] {
      if (::chmod(path_.c_str(), 0444) != 0 || ::chmod(folder_.path().c_str(), 0755) != 0)
        return support::kChildSkipped;
      if (::setuid(65'534) != 0) return support::kChildSkipped;
      const auto file = open_for_appending(path_);
      return !file.ok() && file.error().code == ErrorCode::kOperationNotPermitted ? 0 : 1;
    });
    if (result == support::kChildSkipped) GTEST_SKIP() << "another user cannot be taken on here";
    EXPECT_EQ(result, 0);
    return;
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  EXPECT_TRUE(fails_with(open_for_appending(path_), ErrorCode::kOperationNotPermitted));
}

TEST_F(AppendFile, WhatNobodyCanAppendToNeedsNoLock) {
  ASSERT_EQ(::symlink(path_.c_str(), folder_.file("link").c_str()), 0);
  for (const char* name : {"link", "nothing"}) {
    const auto lock = lock_for_replacing(folder_.file(name));
    ASSERT_TRUE(is_ok(lock)) << name;
    EXPECT_EQ(lock.value(), nullptr) << name;
  }
  const auto lock = lock_for_replacing(path_);
  ASSERT_TRUE(is_ok(lock));
  EXPECT_NE(lock.value(), nullptr);
  EXPECT_TRUE(fails_with(lock_for_replacing(path_), ErrorCode::kLocked));
}

TEST_F(AppendFile, AFileThatLostItsNameIsToldFromOneThatHasIt) {
  const auto file = open_for_appending(path_).value();
  EXPECT_TRUE(is_ok(check_named(*file, path_)));
  ASSERT_EQ(::rename(path_.c_str(), folder_.file("aside").c_str()), 0);
  EXPECT_TRUE(fails_with(check_named(*file, path_), ErrorCode::kChanged));
  EXPECT_TRUE(is_ok(check_named(*file, folder_.file("aside"))));
  support::write_file(path_, Bytes(100, std::byte{1}));
  EXPECT_TRUE(fails_with(check_named(*file, path_), ErrorCode::kChanged));
}

}  // namespace append_file_test
}  // namespace fatctx::mapping
