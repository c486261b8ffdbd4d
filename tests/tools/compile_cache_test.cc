#include "tools/compile_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "support/result_matchers.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace {

using support::is_ok;
using support::TempDir;

class Cache : public ::testing::Test {
 protected:
  Result<std::string> put(const CompileCache& cache, const std::string& key, const std::string& text) {
    FATCTX_ASSIGN(WorkFolder work, cache.begin());
    support::write_text(work.file("result"), text);
    return cache.publish(key, std::move(work), {"result"});
  }
  // What is left of steps that are over.
  [[nodiscard]] std::size_t work_folders() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.file("work"))) ++count;
    return count;
  }

  TempDir folder_;
  CompileCache cache_ = CompileCache::in_folder(folder_.path()).value();
  const std::string key_ = CompileCache::key_of({"a step"});
};

TEST_F(Cache, WhatWasPublishedIsFound) {
  EXPECT_EQ(cache_.find(key_), std::nullopt);

  const auto folder = put(cache_, key_, "text");

  ASSERT_TRUE(is_ok(folder));
  EXPECT_EQ(cache_.find(key_), folder.value());
  EXPECT_EQ(CompileCache::in_folder(folder_.path()).value().find(key_), folder.value());
  EXPECT_EQ(work_folders(), 0U);
}

TEST_F(Cache, TheFirstOfTwoEqualStepsStays) {
  ASSERT_TRUE(is_ok(put(cache_, key_, "first")));

  const auto second = put(cache_, key_, "second");

  ASSERT_TRUE(is_ok(second));
  EXPECT_EQ(support::read_file(second.value() + "/result").size(), 5U);
  EXPECT_EQ(work_folders(), 0U);
}

TEST_F(Cache, ADamagedEntryIsMadeAgain) {
  const std::string folder = put(cache_, key_, "text").value();
  const std::function<void()> damages[] = {
      [&] { support::write_text(folder + "/result", "tex!"); },
      [&] { std::filesystem::remove(folder + "/result"); },
      [&] { support::write_text(folder + "/entry.json", "{"); },
      [&] { std::filesystem::remove(folder + "/entry.json"); },
      [&] { support::write_text(folder + "/entry.json", R"({"schema": "other/1", "files": {}})"); },
  };
  for (const auto& damage : damages) {
    damage();

    EXPECT_EQ(cache_.find(key_), std::nullopt);
    ASSERT_TRUE(is_ok(put(cache_, key_, "text")));
    EXPECT_EQ(cache_.find(key_), folder);
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

  EXPECT_FALSE(cache_.publish(key_, std::move(work).value(), {"result"}).ok());

  EXPECT_EQ(cache_.find(key_), std::nullopt);
}

TEST_F(Cache, ATemporaryOneGoesWithItsOwner) {
  std::string folder;
  {
    const auto cache = CompileCache::temporary();
    ASSERT_TRUE(is_ok(cache));
    folder = put(cache.value(), key_, "text").value();
    EXPECT_TRUE(std::filesystem::exists(folder));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(Cache, AFolderThatCannotBeMadeIsAnError) {
  support::write_text(folder_.file("file"), "x");
  EXPECT_FALSE(CompileCache::in_folder(folder_.file("file")).ok());
}

TEST(CacheKey, DependsOnEveryWordAndOnTheBordersBetweenThem) {
  const std::string key = CompileCache::key_of({"ab", "c"});
  EXPECT_EQ(key, CompileCache::key_of({"ab", "c"}));
  EXPECT_NE(key, CompileCache::key_of({"a", "bc"}));
  EXPECT_NE(key, CompileCache::key_of({"ab", "c", ""}));
  EXPECT_NE(key, CompileCache::key_of({"c", "ab"}));
}

}  // namespace
}  // namespace fatctx::tools
