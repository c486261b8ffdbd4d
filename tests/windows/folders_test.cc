// Folders for one user alone, and files below a folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "fatctx/private_folder.h"
#include "mapping/cache_folder.h"
#include "mapping/file_below.h"
#include "mapping/owner_only_win32.h"
#include "mapping/private_file.h"
#include "mapping/publish.h"
#include "mapping/stitched_region.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"
#include "mapping/work_folder.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

#include <aclapi.h>

namespace fatctx::mapping {
namespace folders_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::TempDir;
using Names = std::vector<std::string>;

constexpr std::size_t kGranule = std::size_t{64} << 10;

// Lets everybody read and write what has this path.
void open_to_everybody(const std::string& path) {
  std::wstring wide = wide_path(path).value();
  EXPLICIT_ACCESSW entry = {};
  wchar_t everybody[] = L"Everyone";
  entry.grfAccessPermissions = FILE_ALL_ACCESS;
  entry.grfAccessMode = GRANT_ACCESS;
  entry.Trustee.TrusteeForm = TRUSTEE_IS_NAME;
  entry.Trustee.ptstrName = everybody;
  ACL* list = nullptr;
  ASSERT_EQ(::SetEntriesInAclW(1, &entry, nullptr, &list), DWORD{ERROR_SUCCESS});
  ASSERT_EQ(
      ::SetNamedSecurityInfoW(wide.data(), SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, nullptr, nullptr, list, nullptr),
      DWORD{ERROR_SUCCESS});
  (void)::LocalFree(list);
}

Status publish_in(const CacheFolder& cache, const std::string& name, ByteView bytes) {
  FATCTX_ASSIGN(const auto pending, cache.create_file(name));
  FATCTX_TRY(pending->file().write_at(0, bytes));
  return pending->publish(true);
}

TEST(PrivateFolder, IsMadeForItsOwnerAlone) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(make_private_folder(folder.file("above/cache"))));
  EXPECT_TRUE(is_ok(check_private_folder(folder.file("above/cache"))));
  EXPECT_TRUE(is_ok(make_private_folder(folder.file("above/cache")))) << "it exists by now";

  const auto work = make_private_folder_in(folder.path());
  ASSERT_TRUE(is_ok(work));
  EXPECT_TRUE(is_ok(check_private_folder(work.value())));
}

TEST(PrivateFolder, OneThatOthersMayWriteToIsRefusedByTheirName) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(make_private_folder(folder.file("cache"))));
  open_to_everybody(folder.file("cache"));

  const auto refused = check_private_folder(folder.file("cache"));

  ASSERT_TRUE(fails_with(refused, ErrorCode::kOperationNotPermitted));
  EXPECT_NE(refused.error().message.find("Everyone"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("icacls"), std::string::npos) << refused.error().message;
}

TEST(PrivateFolder, AMissingOneAndAFileSaySo) {
  const TempDir folder;
  support::write_file(folder.file("file"), support::pattern(3, 1));
  EXPECT_TRUE(fails_with(check_private_folder(folder.file("none")), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(check_private_folder(folder.file("file")), ErrorCode::kOperationNotPermitted));
}

TEST(PrivateFile, AKeyIsForItsOwnerAlone) {
  const TempDir folder;
  const auto pending = PendingFile::create(folder.file("key"), false, Readers::kOwner).value();
  ASSERT_TRUE(is_ok(pending->publish(false)));
  EXPECT_TRUE(is_ok(check_private(*open_for_reading(folder.file("key")).value())));

  open_to_everybody(folder.file("key"));
  const auto refused = check_private(*open_for_reading(folder.file("key")).value());
  ASSERT_TRUE(fails_with(refused, ErrorCode::kOperationNotPermitted));
  EXPECT_NE(refused.error().message.find("Everyone"), std::string::npos) << refused.error().message;
}

TEST(CacheFolder, HoldsFilesInTheOrderOfTheirNames) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(make_private_folder(folder.file("cache"))));
  const auto cache = CacheFolder::open(folder.file("cache")).value();
  const Bytes first = support::pattern(300, 1);
  const Bytes second = support::pattern(500, 2);
  ASSERT_TRUE(is_ok(publish_in(cache, "b", second)));
  ASSERT_TRUE(is_ok(publish_in(cache, "a", first)));
  EXPECT_TRUE(fails_with(publish_in(cache, "a", second), ErrorCode::kExists));

  const auto files = cache.list().value();

  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "a");
  EXPECT_EQ(files[0].size, 300U);
  EXPECT_EQ(files[1].name, "b");
  EXPECT_EQ(files[1].size, 500U);
}

TEST(CacheFolder, AUseShowsAndARewriteDoesNotHide) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(make_private_folder(folder.file("cache"))));
  const auto cache = CacheFolder::open(folder.file("cache")).value();
  ASSERT_TRUE(is_ok(publish_in(cache, "a", support::pattern(300, 1))));
  const CacheFolderFile before = cache.list().value().front();
  ::Sleep(1'100);

  cache.mark_used(*cache.open_file("a").value());

  const CacheFolderFile after = cache.list().value().front();
  EXPECT_GT(after.used.seconds, before.used.seconds);
  EXPECT_EQ(after.made, before.made);
}

TEST(CacheFolder, RemovesTheFileItMeansAndNoOther) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(make_private_folder(folder.file("cache"))));
  const auto cache = CacheFolder::open(folder.file("cache")).value();
  ASSERT_TRUE(is_ok(publish_in(cache, "a", support::pattern(300, 1))));
  ASSERT_TRUE(is_ok(publish_in(cache, "b", support::pattern(300, 2))));
  const FileIdentity a = cache.open_file("a").value()->identity().value();

  cache.remove_if_same("b", a);
  EXPECT_EQ(cache.list().value().size(), 2U);
  cache.remove_if_same("a", a);
  ASSERT_EQ(cache.list().value().size(), 1U);
  EXPECT_TRUE(cache.remove("b")) << "it is read-only";
  EXPECT_TRUE(cache.remove("b")) << "it is gone already";
  EXPECT_TRUE(cache.list().value().empty());
}

TEST(CacheFolder, AbandonedTemporariesAreSweptAndThoseInUseStay) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(make_private_folder(folder.file("cache"))));
  const auto cache = CacheFolder::open(folder.file("cache")).value();
  support::write_file(cache.path_of(".old.0.tmp"), support::pattern(3, 1));
  support::write_file(cache.path_of(".held.0.tmp"), support::pattern(3, 1));
  const auto held = open_for_reading(cache.path_of(".held.0.tmp")).value();

  EXPECT_EQ(cache.sweep_temporaries(60).value(), 0U) << "they are young";
  EXPECT_EQ(cache.sweep_temporaries(0).value(), 1U);

  EXPECT_FALSE(std::filesystem::exists(cache.path_of(".old.0.tmp")));
  EXPECT_TRUE(std::filesystem::exists(cache.path_of(".held.0.tmp")));
}

TEST(CacheFolder, AFileOfItIsABlockOfAStitchedRange) {
  const TempDir folder;
  const Bytes content = support::pattern(4 * kGranule, 3);
  const Bytes built = support::pattern(2 * kGranule, 4);
  support::write_file(folder.file("file"), content);
  support::write_file(folder.file("block"), built);
  const auto file = open_for_reading(folder.file("file")).value();
  const auto cached = open_for_reading(folder.file("block")).value();
  SealableBlock block;
  block.descriptor = cached->descriptor();
  std::atomic<bool> lost{false};
  const std::vector<MixedPiece> pieces = {
      {true, kGranule, kGranule}, {false, 2 * kGranule, kGranule}, {true, 0, 5'000}};

  const auto region = map_mixed(*file, pieces, &block, &lost);

  ASSERT_TRUE(is_ok(region));
  Bytes expected(built.begin() + kGranule, built.end());
  expected.insert(expected.end(), content.begin() + 2 * kGranule, content.begin() + 3 * kGranule);
  expected.insert(expected.end(), built.begin(), built.begin() + 5'000);
  EXPECT_TRUE(std::ranges::equal(region.value()->bytes(), expected));
}

TEST(WorkFolder, GoesWithItsContent) {
  const TempDir folder;
  support::write_file(folder.file("file"), support::pattern(300, 5));
  {
    const auto work = WorkFolder::create_beside(folder.file("file")).value();
    ASSERT_TRUE(is_ok(work.keep(folder.file("file"), "kept")));
    ASSERT_TRUE(is_ok(work.copy(folder.file("file"), "copied")));
    ASSERT_TRUE(is_ok(remove_file(folder.file("file"))));
    EXPECT_TRUE(fails_with(remove_file(folder.file("file")), ErrorCode::kNotFound));
    ASSERT_TRUE(is_ok(work.put_back("kept", folder.file("file"))));
  }
  EXPECT_EQ(folder.names(), Names{"file"});
  EXPECT_EQ(support::read_file(folder.file("file")), support::pattern(300, 5));
}

TEST(FileBelow, IsFoundByEitherSlash) {
  const TempDir folder;
  std::filesystem::create_directory(folder.file("sub"));
  support::write_file(folder.file("sub/file"), support::pattern(300, 6));
  for (const char* const name : {"sub/file", "sub\\file", "./sub/file", "SUB/FILE"}) {
    const auto opened = open_file_below(folder.path(), name);
    ASSERT_TRUE(is_ok(opened)) << name;
    EXPECT_TRUE(opened.value().path.ends_with("sub/file")) << opened.value().path;
    EXPECT_EQ(opened.value().identity.size, 300U);
  }
}

TEST(FileBelow, NamesThatLeaveTheFolderAreRefused) {
  const TempDir folder;
  std::filesystem::create_directory(folder.file("sub"));
  support::write_file(folder.file("file"), support::pattern(300, 6));
  support::write_file(folder.file("sub/file"), support::pattern(300, 6));
  const std::string sub = folder.file("sub");
  for (const char* const name : {"", "../file", "..\\file", "/file", "\\file", "C:file", "C:\\file", "file:stream"}) {
    EXPECT_TRUE(fails_with(file_below(sub, name), ErrorCode::kMalformed)) << name;
  }
  EXPECT_TRUE(fails_with(file_below(sub, "none"), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(file_below(folder.path(), "sub"), ErrorCode::kNotRegularFile));
}

TEST(FileBelow, PathsAreComparedWithoutCase) {
  EXPECT_EQ(path_below("C:\\Models\\Net\\a.bin", "c:/models"), "Net/a.bin");
  EXPECT_EQ(path_below("C:/models2/a.bin", "c:/models"), "");
  EXPECT_EQ(absolute_path("C:\\models\\net\\..\\a.bin"), "C:/models/a.bin");
}

}  // namespace folders_test
}  // namespace fatctx::mapping
