#include "tools/compile/compile_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "support/result_matchers.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace compile_cache_test {

using support::is_ok;
using support::TempDir;

class Cache : public ::testing::Test {
 protected:
  Result<std::string> put(const CompileCache& cache, const StepInputs& inputs, const std::string& text) {
    FATCTX_ASSIGN(WorkFolder work, cache.begin());
    support::write_text(work.file("result"), text);
    return cache.publish(inputs, std::move(work), {"result"});
  }
  // Returns the number of folders that finished steps left.
  [[nodiscard]] std::size_t work_folders() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.file("work"))) ++count;
    return count;
  }

  TempDir folder_;
  CompileCache cache_ = CompileCache::in_folder(folder_.path()).value();
  const StepInputs step_{.words = {"a step", "of tool 1.0", "\xff"}, .files = {}};
};

TEST_F(Cache, WhatWasPublishedIsFound) {
  EXPECT_EQ(cache_.find(step_), std::nullopt);

  const auto folder = put(cache_, step_, "text");

  ASSERT_TRUE(is_ok(folder));
  EXPECT_EQ(cache_.find(step_), folder.value());
  EXPECT_EQ(CompileCache::in_folder(folder_.path()).value().find(step_), folder.value());
  EXPECT_EQ(work_folders(), 0U);
}

TEST_F(Cache, TheFirstOfTwoEqualStepsStays) {
  ASSERT_TRUE(is_ok(put(cache_, step_, "first")));

  const auto second = put(cache_, step_, "second");

  ASSERT_TRUE(is_ok(second));
  EXPECT_EQ(support::read_file(second.value() + "/result").size(), 5U);
  EXPECT_EQ(work_folders(), 0U);
}

TEST_F(Cache, ADamagedEntryIsMadeAgain) {
  const std::string folder = put(cache_, step_, "text").value();
  const std::function<void()> damages[] = {
      [&] { support::write_text(folder + "/result", "tex!"); },
      [&] { std::filesystem::remove(folder + "/result"); },
      [&] { support::write_text(folder + "/entry.json", "{"); },
      [&] { std::filesystem::remove(folder + "/entry.json"); },
      [&] { support::write_text(folder + "/entry.json", R"({"schema": "other/1", "inputs": [], "files": {}})"); },
      [&] { support::write_text(folder + "/more", "planted"); },
      [&] {
        std::filesystem::remove(folder + "/result");
        support::write_text(folder_.file("elsewhere"), "text");
        std::filesystem::create_symlink(folder_.file("elsewhere"), folder + "/result");
      },
      [&] { std::filesystem::permissions(folder, std::filesystem::perms(0755)); },
      [&] {
        std::filesystem::rename(folder, folder_.file("moved"));
        std::filesystem::create_directory_symlink(folder_.file("moved"), folder);
      },
  };
  std::size_t said = 0;
  for (const auto& damage : damages) {
    damage();

    EXPECT_EQ(cache_.find(step_), std::nullopt) << "damage " << said;
    ASSERT_EQ(cache_.notes().size(), ++said) << "what is not used is said";
    EXPECT_THAT(cache_.notes().back(), ::testing::HasSubstr(folder + ": "));
    ASSERT_TRUE(is_ok(put(cache_, step_, "text")));
    EXPECT_EQ(cache_.find(step_), folder);
  }
}

TEST_F(Cache, AnEntryThatWasMadeFromSomethingElseIsNotUsed) {
  const StepInputs other{.words = {"another step"}, .files = {}};
  const std::string planted = put(cache_, other, "of the other step").value();
  std::filesystem::rename(planted, std::filesystem::path(planted).parent_path() / CompileCache::key_of(step_));

  EXPECT_EQ(cache_.find(step_), std::nullopt);

  ASSERT_EQ(cache_.notes().size(), 1U);
  EXPECT_THAT(cache_.notes().front(), ::testing::HasSubstr("made from another model"));
}

TEST_F(Cache, TheBytesOfAFileDecideAndNotItsName) {
  const auto inputs = [&](const std::string& name, const std::string& text) {
    support::write_text(folder_.file(name), text);
    return StepInputs{.words = {"step"}, .files = hash_files({folder_.file(name)}).value()};
  };
  const std::string folder = put(cache_, inputs("model", "one"), "text").value();

  EXPECT_EQ(cache_.find(inputs("copy", "one")), folder);
  EXPECT_EQ(cache_.find(inputs("model", "two")), std::nullopt);
  EXPECT_TRUE(cache_.notes().empty());
}

TEST_F(Cache, WhatWasCompiledWhileItsModelChangedIsNotKept) {
  support::write_text(folder_.file("model"), "one");
  const StepInputs inputs{.words = {"step"}, .files = hash_files({folder_.file("model")}).value()};
  support::write_text(folder_.file("model"), "two");

  EXPECT_TRUE(support::fails_with(put(cache_, inputs, "text"), ErrorCode::kChanged));

  EXPECT_EQ(cache_.find(inputs), std::nullopt);
}

TEST_F(Cache, AFolderThatIsNotTheCallersAloneIsRefused) {
  namespace fs = std::filesystem;
  const std::string folder = folder_.file("cache");
  ASSERT_TRUE(is_ok(CompileCache::in_folder(folder)));
  for (const std::string& part : {folder, (fs::path(folder) / "v2").string(), (fs::path(folder) / "work").string()}) {
    for (const auto mode : {0755U, 0770U, 0777U}) {
      fs::permissions(part, fs::perms(mode));

      const auto refused = CompileCache::in_folder(folder);

      ASSERT_TRUE(support::fails_with(refused, ErrorCode::kOperationNotPermitted)) << part;
      EXPECT_THAT(refused.error().message, ::testing::HasSubstr("chmod 700 " + part));
    }
    fs::permissions(part, fs::perms::owner_all);
  }
  fs::rename(folder + "/v2", folder_.file("elsewhere"));
  fs::create_directory_symlink(folder_.file("elsewhere"), folder + "/v2");
  EXPECT_TRUE(support::fails_with(CompileCache::in_folder(folder), ErrorCode::kOperationNotPermitted));
}

TEST_F(Cache, AFolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const std::string folder = folder_.file("cache");
  ASSERT_TRUE(is_ok(CompileCache::in_folder(folder)));
  ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);

  const auto refused = CompileCache::in_folder(folder);

  ASSERT_TRUE(support::fails_with(refused, ErrorCode::kOperationNotPermitted));
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("belongs to user 12345"));
}

TEST_F(Cache, FoldersAreMadeForTheirOwnerAlone) {
  namespace fs = std::filesystem;
  const std::string folder = folder_.file("above/cache");
  const mode_t before = ::umask(0);
  const auto cache = CompileCache::in_folder(folder + "/");
  const auto entry = cache.ok() ? put(cache.value(), step_, "text") : Result<std::string>(cache.error());
  ::umask(before);

  ASSERT_TRUE(is_ok(entry));
  for (const fs::path& made :
       {fs::path(folder), fs::path(folder) / "v2", fs::path(folder) / "work", fs::path(entry.value())}) {
    EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all) << made;
  }
}

TEST_F(Cache, AStepThatWasNotPublishedLeavesNothing) {
  {
    auto work = cache_.begin();
    ASSERT_TRUE(is_ok(work));
    support::write_text(work.value().file("half"), "x");
    EXPECT_EQ(work_folders(), 1U);
  }
  EXPECT_EQ(work_folders(), 0U);
}

TEST_F(Cache, AMissingFileIsNotPublished) {
  auto work = cache_.begin();

  EXPECT_FALSE(cache_.publish(step_, std::move(work).value(), {"result"}).ok());

  EXPECT_EQ(cache_.find(step_), std::nullopt);
}

TEST_F(Cache, ATemporaryOneGoesWithItsOwner) {
  std::string folder;
  {
    const auto cache = CompileCache::temporary();
    ASSERT_TRUE(is_ok(cache));
    folder = put(cache.value(), step_, "text").value();
    EXPECT_TRUE(std::filesystem::exists(folder));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(Cache, AFolderThatCannotBeMadeIsAnError) {
  support::write_text(folder_.file("file"), "x");
  EXPECT_FALSE(CompileCache::in_folder(folder_.file("file")).ok());
}

TEST(CacheKey, DependsOnEveryWordAndOnTheBordersBetweenThem) {
  using Words = std::vector<std::string>;
  const std::string key = CompileCache::key_of(Words{"ab", "c"});
  EXPECT_EQ(key, CompileCache::key_of(Words{"ab", "c"}));
  EXPECT_NE(key, CompileCache::key_of(Words{"a", "bc"}));
  EXPECT_NE(key, CompileCache::key_of(Words{"ab", "c", ""}));
  EXPECT_NE(key, CompileCache::key_of(Words{"c", "ab"}));
}

}  // namespace compile_cache_test
}  // namespace fatctx::tools
