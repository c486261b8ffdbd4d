#include "mapping/work_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "fatctx/private_folder.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace work_folder_test {

namespace fs = std::filesystem;

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(WorkFolder, IsThereForItsOwnerAndGoesWithEverythingInIt) {
  const support::TempDir dir;
  {
    const auto folder = WorkFolder::create_beside(dir.file("model.onnx"));
    ASSERT_TRUE(support::is_ok(folder));
    support::write_file(folder.value().path_of("a"), {});
    fs::create_directories(folder.value().path_of("b/c"));
    EXPECT_EQ(entries(dir.path()), 1U);
    EXPECT_EQ(fs::status(fs::path(folder.value().path_of("a")).parent_path()).permissions(), fs::perms::owner_all);
  }
  EXPECT_EQ(entries(dir.path()), 0U);
}

TEST(PrivateFolder, IsMadeForItsOwnerAloneFromTheFirstMomentOn) {
  const support::TempDir dir;
  const std::string folder = dir.file("above/cache");
  const mode_t before = ::umask(0);
  const auto made = make_private_folder(folder + "//");
  const auto inside = make_private_folder_in(folder);
  ::umask(before);

  ASSERT_TRUE(support::is_ok(made));
  ASSERT_TRUE(support::is_ok(inside));
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(inside.value()).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(support::is_ok(make_private_folder(folder))) << "one that exists is checked";
}

TEST(PrivateFolder, ThatIsOpenToOthersOrNoFolderIsRefused) {
  const support::TempDir dir;
  support::write_file(dir.file("file"), {});
  EXPECT_TRUE(support::fails_with(make_private_folder(dir.file("file")), ErrorCode::kOperationNotPermitted));
  EXPECT_TRUE(support::fails_with(check_private_folder(dir.file("none")), ErrorCode::kNotFound));
  fs::create_directory(dir.file("open"));
  fs::permissions(dir.file("open"), fs::perms(0755));
  const auto refused = make_private_folder(dir.file("open"));
  ASSERT_TRUE(support::fails_with(refused, ErrorCode::kOperationNotPermitted));
  EXPECT_NE(refused.error().message.find("chmod 700 " + dir.file("open")), std::string::npos);
}

TEST(WorkFolder, GoesOnceWhenItWasMoved) {
  const support::TempDir dir;
  std::optional<WorkFolder> kept;
  {
    auto made = WorkFolder::create_beside(dir.file("x"));
    ASSERT_TRUE(support::is_ok(made));
    kept.emplace(std::move(made).value());
  }
  EXPECT_EQ(entries(dir.path()), 1U);
  kept.reset();
  EXPECT_EQ(entries(dir.path()), 0U);
}

TEST(WorkFolder, NamesTheFolderThatIsNotThere) {
  const support::TempDir dir;
  const auto folder = WorkFolder::create_beside(dir.file("none/x"));
  ASSERT_TRUE(support::fails_with(folder, ErrorCode::kNotFound));
  EXPECT_NE(folder.error().message.find(dir.file("none")), std::string::npos);
}

TEST(WorkFolder, PutsBackWhatWasCopiedWhoeverWroteMeanwhile) {
  const support::TempDir dir;
  const std::string file = dir.file("model.onnx");
  const support::Bytes before(100, std::byte{1});
  support::write_file(file, before);
  auto folder = WorkFolder::create_beside(file);
  ASSERT_TRUE(support::is_ok(folder));
  ASSERT_TRUE(support::is_ok(folder.value().copy(file, "kept")));
  support::write_file(file, support::Bytes(2, std::byte{2}));
  ASSERT_TRUE(support::is_ok(folder.value().put_back("kept", file)));
  EXPECT_EQ(support::read_file(file), before);
  EXPECT_TRUE(support::fails_with(folder.value().copy(dir.file("none"), "none"), ErrorCode::kNotFound));
}

TEST(WorkFolder, IsMadeWhereTheSystemKeepsThem) { EXPECT_TRUE(support::is_ok(WorkFolder::create_temporary())); }

}  // namespace work_folder_test
}  // namespace fatctx::mapping
