// A published file appears whole or not at all, also over a file that is open or mapped elsewhere.
#include "mapping/publish.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "mapping/mapped_region.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

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

DWORD attributes_of(const std::string& path) { return ::GetFileAttributesW(wide_path(path).value().c_str()); }

TEST(Publish, NothingIsSeenBeforeAndEverythingAfter) {
  const TempDir folder;
  auto pending = PendingFile::create(folder.file("new"), false).value();
  ASSERT_TRUE(is_ok(pending->file().write_at(0, kNew)));
  EXPECT_FALSE(std::filesystem::exists(folder.file("new")));

  ASSERT_TRUE(is_ok(pending->publish(false)));

  EXPECT_EQ(support::read_file(folder.file("new")), kNew);
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
  support::write_file(folder.file("there"), kOld);

  EXPECT_TRUE(fails_with(publish(folder.file("there"), false), ErrorCode::kExists));
  EXPECT_EQ(support::read_file(folder.file("there")), kOld);
  EXPECT_TRUE(is_ok(publish(folder.file("there"), true)));
  EXPECT_EQ(support::read_file(folder.file("there")), kNew);
  EXPECT_TRUE(is_ok(publish(folder.file("absent"), true)));
  EXPECT_EQ(folder.names(), (Names{"absent", "there"}));
}

TEST(Publish, ATargetThatAppearsMeanwhileIsNotOverwritten) {
  const TempDir folder;
  auto pending = PendingFile::create(folder.file("late"), false).value();
  ASSERT_TRUE(is_ok(pending->file().write_at(0, kNew)));
  support::write_file(folder.file("late"), kOld);

  EXPECT_TRUE(fails_with(pending->publish(true), ErrorCode::kExists));

  pending.reset();
  EXPECT_EQ(support::read_file(folder.file("late")), kOld);
  EXPECT_EQ(folder.names(), Names{"late"});
}

TEST(Publish, AFileThatIsOpenAndMappedIsReplacedAndItsReadersKeepTheOldBytes) {
  const TempDir folder;
  support::write_file(folder.file("there"), kOld);
  auto reader = open_for_reading(folder.file("there")).value();
  auto region = map_file(*reader, kOld.size()).value();

  ASSERT_TRUE(is_ok(publish(folder.file("there"), true)));

  EXPECT_TRUE(std::ranges::equal(region->bytes(), kOld));
  Bytes buffer(kOld.size());
  ASSERT_TRUE(is_ok(reader->read_at(0, buffer)));
  EXPECT_EQ(buffer, kOld);
  const auto fresh = open_for_reading(folder.file("there")).value();
  EXPECT_TRUE(std::ranges::equal(map_file(*fresh, kNew.size()).value()->bytes(), kNew));
  EXPECT_FALSE(fresh->identity().value() == reader->identity().value());
}

TEST(Publish, AFileThatIsOpenLeavesNothingWhenItsLastReaderIsGone) {
  const TempDir folder;
  support::write_file(folder.file("there"), kOld);
  auto reader = open_for_reading(folder.file("there")).value();

  ASSERT_TRUE(is_ok(publish(folder.file("there"), true)));
  reader.reset();

  EXPECT_EQ(folder.names(), Names{"there"});
}

TEST(Publish, SealedFilesAreReadOnlyAndCanBeReplaced) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(publish(folder.file("sealed"), false, true)));
  EXPECT_NE(attributes_of(folder.file("sealed")) & FILE_ATTRIBUTE_READONLY, 0U);

  EXPECT_TRUE(is_ok(publish(folder.file("sealed"), true, false)));
  EXPECT_EQ(attributes_of(folder.file("sealed")) & FILE_ATTRIBUTE_READONLY, 0U);
  EXPECT_EQ(support::read_file(folder.file("sealed")), kNew);
  EXPECT_EQ(folder.names(), Names{"sealed"});
}

TEST(Publish, TargetsThatCannotBeFilesAreRefused) {
  const TempDir folder;
  std::filesystem::create_directory(folder.file("folder"));
  support::write_file(folder.file("file"), kOld);
  for (const bool overwrite : {false, true}) {
    EXPECT_TRUE(fails_with(publish(folder.file("folder"), overwrite), ErrorCode::kNotRegularFile));
    EXPECT_TRUE(fails_with(publish(folder.file("missing/new"), overwrite), ErrorCode::kNotFound));
    EXPECT_TRUE(fails_with(publish(folder.file("file/new"), overwrite), ErrorCode::kNotFound));
    for (const std::string& name : {std::string(), folder.path() + "/", folder.path() + "\\", folder.file("."),
                                    folder.file(".."), folder.file("a") + std::string(1, '\0')}) {
      EXPECT_TRUE(fails_with(publish(name, overwrite), ErrorCode::kInvalidArgument)) << name;
    }
  }
  EXPECT_FALSE(publish(folder.file(std::string(256, 'n')), false).ok()) << "longer than a name may be";
  EXPECT_EQ(folder.names(), (Names{"file", "folder"}));
}

TEST(Publish, TheLongestNameCanBeReplaced) {
  const TempDir folder;
  const std::string name(255, 'n');
  ASSERT_TRUE(is_ok(publish(folder.file(name), false)));
  ASSERT_TRUE(is_ok(publish(folder.file(name), true)));
  EXPECT_EQ(folder.names(), Names{name});
}

TEST(Publish, UnfinishedWorkIsKeptForALaterProcess) {
  const TempDir folder;
  {
    const auto pending = PendingFile::resume(folder.file("new"), false).value();
    ASSERT_TRUE(is_ok(pending->file().write_at(0, kOld)));
    EXPECT_TRUE(fails_with(PendingFile::resume(folder.file("new"), false), ErrorCode::kLocked));
  }
  EXPECT_EQ(folder.names(), Names{"new.fetching"});

  const auto pending = PendingFile::resume(folder.file("new"), false).value();
  EXPECT_EQ(pending->file().identity().value().size, kOld.size());
  ASSERT_TRUE(is_ok(pending->file().write_at(0, kNew)));
  ASSERT_TRUE(is_ok(pending->publish(false)));

  EXPECT_EQ(folder.names(), Names{"new"});
  EXPECT_EQ(support::read_file(folder.file("new")), kNew);
}

TEST(Publish, UnfinishedWorkThatIsGivenUpIsGone) {
  const TempDir folder;
  {
    const auto pending = PendingFile::resume(folder.file("new"), false).value();
    pending->discard();
  }
  EXPECT_EQ(folder.names(), Names{});
}

}  // namespace publish_test
}  // namespace fatctx::mapping
