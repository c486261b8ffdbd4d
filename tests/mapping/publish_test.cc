// A published file appears whole or not at all.
#include "mapping/publish.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "mapping/append_file.h"
#include "support/child_process.h"
#include "support/process_files.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::mapping {
namespace publish_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::TempDir;
using Names = std::vector<std::string>;

const Bytes kNew = support::pattern(5'000, 1);
const Bytes kOld = support::pattern(300, 2);

Status publish(const std::string& target, bool overwrite, bool read_only = false) {
  FATCTX_ASSIGN(const auto pending, PendingFile::create(target, overwrite));
  FATCTX_TRY(pending->file().write_at(0, kNew));
  return pending->publish(read_only);
}

mode_t mode_of(const std::string& path) {
  struct stat st = {};
  return ::lstat(path.c_str(), &st) == 0 ? st.st_mode & 07777 : 0;
}

TEST(Publish, NothingIsSeenBeforeAndEverythingAfter) {
  const TempDir folder;
  const std::string target = folder.file("new");
  auto pending = PendingFile::create(target, false).value();
  ASSERT_TRUE(is_ok(pending->file().write_at(0, kNew)));
  EXPECT_FALSE(std::filesystem::exists(target));

  ASSERT_TRUE(is_ok(pending->publish(false)));

  EXPECT_EQ(support::read_file(target), kNew);
  pending.reset();
  EXPECT_EQ(folder.names(), Names{"new"});
}

TEST(Publish, AbandoningLeavesNothing) {
  const TempDir folder;
  support::write_file(folder.file("old"), kOld);
  {
    const auto fresh = PendingFile::create(folder.file("new"), false).value();
    const auto replacing = PendingFile::create(folder.file("old"), true).value();
    ASSERT_TRUE(is_ok(fresh->file().write_at(0, kNew)));
    ASSERT_TRUE(is_ok(replacing->file().write_at(0, kNew)));
  }
  EXPECT_EQ(folder.names(), Names{"old"});
  EXPECT_EQ(support::read_file(folder.file("old")), kOld);
}

TEST(Publish, WhatIsTakenBackIsGone) {
  const TempDir folder;
  const auto pending = PendingFile::create(folder.file("new"), false).value();
  ASSERT_TRUE(is_ok(pending->publish(false)));
  ASSERT_EQ(folder.names(), Names{"new"});

  pending->take_back();

  EXPECT_EQ(folder.names(), Names{});
}

TEST(Publish, AnExistingTargetIsReplacedOnlyWhenAsked) {
  const TempDir folder;
  const std::string target = folder.file("there");
  support::write_file(target, kOld);

  EXPECT_TRUE(fails_with(publish(target, false), ErrorCode::kExists));
  EXPECT_EQ(support::read_file(target), kOld);
  EXPECT_TRUE(is_ok(publish(target, true)));
  EXPECT_EQ(support::read_file(target), kNew);
  EXPECT_EQ(folder.names(), Names{"there"});
}

TEST(Publish, ATargetThatAppearsMeanwhileIsNotOverwritten) {
  const TempDir folder;
  const std::string target = folder.file("late");
  auto pending = PendingFile::create(target, false).value();
  ASSERT_TRUE(is_ok(pending->file().write_at(0, kNew)));
  support::write_file(target, kOld);

  EXPECT_TRUE(fails_with(pending->publish(false), ErrorCode::kExists));
  pending.reset();  // this also removes the temporary name, which exists where unnamed files do not

  EXPECT_EQ(support::read_file(target), kOld);
  EXPECT_EQ(folder.names(), Names{"late"});
}

TEST(Publish, WhileSomebodyAppendsToATargetItIsNotReplaced) {
  const TempDir folder;
  const std::string target = folder.file("target");
  support::write_file(target, kOld);
  auto appending = open_for_appending(target);
  ASSERT_TRUE(is_ok(appending));

  EXPECT_TRUE(fails_with(publish(target, true), ErrorCode::kLocked));
  const int in_child = support::in_child([&] {
    const Status status = publish(target, true);
    return !status.ok() && status.error().code == ErrorCode::kLocked ? 0 : 1;
  });

  EXPECT_EQ(in_child, 0);
  EXPECT_EQ(support::read_file(target), kOld);
  EXPECT_EQ(folder.names(), Names{"target"});
  appending.value().reset();
  EXPECT_TRUE(is_ok(publish(target, true)));
}

TEST(Publish, WhileATargetIsReplacedNobodyAppendsToIt) {
  const TempDir folder;
  const std::string target = folder.file("target");
  support::write_file(target, kOld);
  auto pending = PendingFile::create(target, true).value();

  EXPECT_TRUE(fails_with(open_for_appending(target), ErrorCode::kLocked));

  ASSERT_TRUE(is_ok(pending->file().write_at(0, kNew)));
  ASSERT_TRUE(is_ok(pending->publish(false)));
  EXPECT_TRUE(is_ok(open_for_appending(target))) << "the new file is another one";
}

TEST(Publish, ATargetThatAppearsMeanwhileIsReplacedUnderItsLockOnly) {
  const TempDir folder;
  const std::string target = folder.file("target");
  for (const bool there_before : {false, true}) {
    if (there_before) support::write_file(target, kNew);
    auto pending = PendingFile::create(target, true).value();
    ASSERT_TRUE(is_ok(pending->file().write_at(0, kNew)));
    support::write_file(folder.file("other"), kOld);
    std::filesystem::rename(folder.file("other"), target);
    auto appending = open_for_appending(target);
    ASSERT_TRUE(is_ok(appending));

    EXPECT_TRUE(fails_with(pending->publish(false), ErrorCode::kLocked));
    pending.reset();

    EXPECT_EQ(support::read_file(target), kOld);
    EXPECT_EQ(folder.names(), Names{"target"});
  }
}

TEST(Publish, WhoHasTheLockOfATargetReplacesIt) {
  const TempDir folder;
  const std::string target = folder.file("target");
  support::write_file(target, kOld);
  const auto held = lock_for_replacing(target);
  ASSERT_TRUE(is_ok(held));
  ASSERT_NE(held.value(), nullptr);

  const auto pending = PendingFile::create(target, true, Readers::kAll, TargetLock::kHeld);
  ASSERT_TRUE(is_ok(pending));
  ASSERT_TRUE(is_ok(pending.value()->file().write_at(0, kNew)));

  EXPECT_TRUE(is_ok(pending.value()->publish(false)));
  EXPECT_EQ(support::read_file(target), kNew);
}

TEST(Publish, AnOldMappingKeepsTheOldInode) {
  const TempDir folder;
  const std::string target = folder.file("there");
  support::write_file(target, kOld);
  const auto reader = open_for_reading(target).value();

  ASSERT_TRUE(is_ok(publish(target, true)));

  Bytes buffer(kOld.size());
  ASSERT_TRUE(is_ok(reader->read_at(0, buffer)));
  EXPECT_EQ(buffer, kOld);
}

TEST(Publish, ALinkIsReplacedAndNotWrittenThrough) {
  const TempDir folder;
  support::write_file(folder.file("elsewhere"), kOld);
  std::filesystem::create_symlink("elsewhere", folder.file("link"));
  std::filesystem::create_symlink("nowhere", folder.file("dangling"));

  EXPECT_TRUE(fails_with(publish(folder.file("link"), false), ErrorCode::kExists));
  EXPECT_TRUE(fails_with(publish(folder.file("dangling"), false), ErrorCode::kExists));
  ASSERT_TRUE(is_ok(publish(folder.file("link"), true)));

  EXPECT_EQ(support::read_file(folder.file("elsewhere")), kOld);
  EXPECT_FALSE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(support::read_file(folder.file("link")), kNew);
}

TEST(Publish, AFolderThatIsALinkIsFollowed) {
  const TempDir folder;
  std::filesystem::create_directory(folder.file("real"));
  std::filesystem::create_directory_symlink("real", folder.file("link"));

  ASSERT_TRUE(is_ok(publish(folder.file("link/new"), false)));

  EXPECT_EQ(support::read_file(folder.file("real/new")), kNew);
}

TEST(Publish, TargetsThatCannotBeFilesAreRefused) {
  const TempDir folder;
  std::filesystem::create_directory(folder.file("folder"));
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);

  for (const bool overwrite : {false, true}) {
    EXPECT_TRUE(fails_with(publish(folder.file("folder"), overwrite), ErrorCode::kNotRegularFile));
    EXPECT_TRUE(fails_with(publish(folder.file("fifo"), overwrite), ErrorCode::kNotRegularFile));
    EXPECT_TRUE(fails_with(publish(folder.file("missing/new"), overwrite), ErrorCode::kNotFound));
    EXPECT_TRUE(fails_with(publish(folder.file("fifo/new"), overwrite), ErrorCode::kNotFound));
    for (const std::string& name : {std::string(), folder.path() + "/", folder.file("."), folder.file(".."),
                                    folder.file("a") + std::string(1, '\0')}) {
      EXPECT_TRUE(fails_with(publish(name, overwrite), ErrorCode::kInvalidArgument)) << name;
    }
  }
  EXPECT_FALSE(publish(folder.file(std::string(256, 'n')), false).ok()) << "longer than a name may be";
  EXPECT_EQ(folder.names(), (Names{"fifo", "folder"}));
}

TEST(Publish, TheLongestNameThatAFilesystemTakesCanBeReplaced) {
  std::string wide;  // 85 characters of three bytes
  while (wide.size() < 255) wide += "\xe6\xa8\xa1";
  for (const std::string& name : {std::string(255, 'n'), wide}) {
    const TempDir folder;

    ASSERT_TRUE(is_ok(publish(folder.file(name), false)));
    ASSERT_TRUE(is_ok(publish(folder.file(name), true)));

    EXPECT_EQ(folder.names(), Names{name});
  }
}

TEST(Publish, ModesFollowTheMaskAndSealedFilesAreReadOnly) {
  const TempDir folder;
  for (const mode_t mask : {mode_t{022}, mode_t{077}, mode_t{0}}) {
    const mode_t before = ::umask(mask);
    const bool published = publish(folder.file("plain"), true).ok() && publish(folder.file("sealed"), true, true).ok();
    ::umask(before);
    ASSERT_TRUE(published);
    EXPECT_EQ(mode_of(folder.file("plain")), mode_t{0644} & ~mask);
    EXPECT_EQ(mode_of(folder.file("sealed")), mode_t{0444} & ~mask);
  }
}

TEST(Publish, AReadOnlyFileCanBeReplaced) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(publish(folder.file("sealed"), false, true)));

  EXPECT_TRUE(is_ok(publish(folder.file("sealed"), true, true)));
}

TEST(Publish, InAFolderThatMayNotBeWrittenNothingHappens) {
  const TempDir folder;
  std::filesystem::permissions(folder.path(),
                               std::filesystem::perms::others_read | std::filesystem::perms::others_exec |
                                   std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const int result = support::in_child([&] {
    if (::geteuid() == 0 && ::setuid(65'534) != 0) return support::kChildSkipped;  // root may write anywhere
    const Status status = publish(folder.file("new"), false);
    return status.ok() ? 1 : status.error().code == ErrorCode::kIo && status.error().where.os_error == EACCES ? 0 : 2;
  });

  if (result == support::kChildSkipped) GTEST_SKIP() << "root cannot become somebody else here";
  EXPECT_EQ(result, 0);
  EXPECT_EQ(folder.names(), Names{});
}

// Makes the sync fail in the child, for the descriptor that is opened `offset` opens from now.
int publish_with_failing_sync(const std::string& target, int offset, bool overwrite) {
  return support::in_child([&] {
    // The folder is opened first and the new file second, with no other open in between.
    const long call = offset == 0 ? SYS_fsync : SYS_fdatasync;
    if (!support::fail_call_on(call, support::next_descriptor() + offset, EIO)) return support::kChildSkipped;
    const Status status = publish(target, overwrite);
    return status.ok() ? 0 : static_cast<int>(status.error().code);
  });
}

TEST(Publish, AFolderThatCannotBeSyncedIsCommitUnknown) {
  for (const bool overwrite : {false, true}) {
    const TempDir folder;
    if (overwrite) support::write_file(folder.file("target"), kOld);

    const int result = publish_with_failing_sync(folder.file("target"), 0, overwrite);

    if (result == support::kChildSkipped) GTEST_SKIP() << "system calls cannot be filtered here";
    EXPECT_EQ(result, static_cast<int>(ErrorCode::kCommitUnknown));
    EXPECT_EQ(folder.names(), Names{"target"});
    EXPECT_EQ(support::read_file(folder.file("target")), kNew) << "it has its name all the same";
  }
}

TEST(Publish, AFileThatCannotBeSyncedIsNotPublished) {
  for (const bool overwrite : {false, true}) {
    const TempDir folder;
    if (overwrite) support::write_file(folder.file("target"), kOld);

    const int result = publish_with_failing_sync(folder.file("target"), 1, overwrite);

    if (result == support::kChildSkipped) GTEST_SKIP() << "system calls cannot be filtered here";
    EXPECT_EQ(result, static_cast<int>(ErrorCode::kIo));
    EXPECT_EQ(folder.names(), overwrite ? Names{"target"} : Names{});
    if (overwrite) {
      EXPECT_EQ(support::read_file(folder.file("target")), kOld);
    }
  }
}

TEST(Publish, FailuresLeakNoDescriptor) {
  const TempDir folder;
  support::write_file(folder.file("there"), kOld);
  const std::size_t before = support::open_descriptors();
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(publish(folder.file("there"), false).ok());
    EXPECT_FALSE(publish(folder.file("missing/new"), false).ok());
    EXPECT_TRUE(PendingFile::create(folder.file("there"), true).ok());
  }
  EXPECT_EQ(support::open_descriptors(), before);
  EXPECT_EQ(folder.names(), Names{"there"});
}

}  // namespace publish_test
}  // namespace fatctx::mapping
