#include "mapping/file_below.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "mapping/same_file.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace file_below_test {

namespace fs = std::filesystem;

class FileBelow : public ::testing::Test {
 protected:
  FileBelow() {
    fs::create_directories(dir_.file("in/sub"));
    fs::create_directories(dir_.file("out"));
    for (const char* const name : {"in/a", "in/sub/b", "out/c"}) support::write_file(dir_.file(name), {});
  }
  [[nodiscard]] std::string real(const std::string& name) const { return fs::canonical(dir_.file(name)).string(); }

  support::TempDir dir_;
};

TEST_F(FileBelow, FindsWhatLiesInTheFolderOrBelowIt) {
  EXPECT_EQ(file_below(dir_.file("in"), "a").value(), real("in/a"));
  EXPECT_EQ(file_below(dir_.file("in"), "sub/b").value(), real("in/sub/b"));
  EXPECT_EQ(file_below(dir_.file("in") + "/", "./sub/./b").value(), real("in/sub/b"));
}

TEST_F(FileBelow, RefusesWhatLeavesTheFolder) {
  const std::string in = dir_.file("in");
  for (const std::string& name : {std::string(), std::string("../out/c"), std::string("sub/../a"),
                                  std::string("sub/.."), dir_.file("in/a"), std::string("a\0b", 3)}) {
    EXPECT_TRUE(support::fails_with(file_below(in, name), ErrorCode::kMalformed)) << name;
  }
}

TEST_F(FileBelow, FollowsLinksThatStayAndRefusesThoseThatLeave) {
  fs::create_symlink("sub/b", dir_.file("in/stays"));
  fs::create_symlink(dir_.file("out/c"), dir_.file("in/leaves"));
  fs::create_directory_symlink(dir_.file("out"), dir_.file("in/folder"));
  EXPECT_EQ(file_below(dir_.file("in"), "stays").value(), real("in/sub/b"));
  EXPECT_TRUE(support::fails_with(file_below(dir_.file("in"), "leaves"), ErrorCode::kMalformed));
  EXPECT_TRUE(support::fails_with(file_below(dir_.file("in"), "folder/c"), ErrorCode::kMalformed));
}

TEST_F(FileBelow, AFolderWhoseNameBeginsLikeTheOtherIsAnother) {
  fs::create_directories(dir_.file("in-2"));
  support::write_file(dir_.file("in-2/d"), {});
  fs::create_symlink(dir_.file("in-2/d"), dir_.file("in/d"));
  EXPECT_TRUE(support::fails_with(file_below(dir_.file("in"), "d"), ErrorCode::kMalformed));
}

TEST_F(FileBelow, SaysWhatIsNotThereOrNoFile) {
  EXPECT_TRUE(support::fails_with(file_below(dir_.file("in"), "none"), ErrorCode::kNotFound));
  EXPECT_TRUE(support::fails_with(file_below(dir_.file("none"), "a"), ErrorCode::kNotFound));
  EXPECT_TRUE(support::fails_with(file_below(dir_.file("in"), "sub"), ErrorCode::kNotRegularFile));
}

TEST_F(FileBelow, OpensWhatItFindsAndNamesIt) {
  fs::create_symlink("sub/b", dir_.file("in/stays"));
  for (const auto& [name, file] : {std::pair("a", "in/a"), {"sub/b", "in/sub/b"}, {"stays", "in/sub/b"}}) {
    const auto opened = open_file_below(dir_.file("in"), name);
    ASSERT_TRUE(support::is_ok(opened)) << name;
    EXPECT_EQ(opened.value().path, real(file));
    EXPECT_TRUE(is_same_file(opened.value().identity, stat_path(dir_.file(file)).value()));
  }
  fs::create_symlink(dir_.file("out/c"), dir_.file("in/leaves"));
  EXPECT_TRUE(support::fails_with(open_file_below(dir_.file("in"), "leaves"), ErrorCode::kMalformed));
  EXPECT_TRUE(support::fails_with(open_file_below(dir_.file("in"), "none"), ErrorCode::kNotFound));
}

TEST_F(FileBelow, ALinkThatWasPutThereAfterTheNameWasResolvedIsNotFollowed) {
  fs::create_directories(dir_.file("in/deep/er"));
  support::write_file(dir_.file("in/deep/er/c"), {});
  ASSERT_TRUE(support::is_ok(open_without_links(real("in"), "deep/er/c")));
  fs::rename(dir_.file("in/deep/er/c"), dir_.file("in/deep/er/kept"));
  fs::create_symlink(dir_.file("out/c"), dir_.file("in/deep/er/c"));
  EXPECT_TRUE(support::fails_with(open_without_links(real("in"), "deep/er/c"), ErrorCode::kMalformed));

  fs::rename(dir_.file("in/deep"), dir_.file("in/kept"));
  fs::create_directory_symlink(dir_.file("out"), dir_.file("in/deep"));
  const auto refused = open_without_links(real("in"), "deep/c");
  ASSERT_TRUE(support::fails_with(refused, ErrorCode::kMalformed));
  EXPECT_NE(refused.error().message.find("\"deep\" became a link"), std::string::npos) << refused.error().message;
}

TEST_F(FileBelow, FoldersOfALinkAreTwo) {
  fs::create_symlink(dir_.file("out/c"), dir_.file("in/link"));
  const FoldersOfFile of_link = folders_of(dir_.file("in/link"));
  EXPECT_EQ(of_link.written, dir_.file("in"));
  EXPECT_EQ(of_link.real, fs::canonical(dir_.file("out")).string());
  const FoldersOfFile of_file = folders_of(dir_.file("in/a"));
  EXPECT_EQ(of_file.written, of_file.real);
  EXPECT_EQ(folders_of(dir_.file("in/none")).written, dir_.file("in"));
}

TEST_F(FileBelow, APathIsSeenFromAFolder) {
  EXPECT_EQ(path_below("/a/b/c.x", "/a/b"), "c.x");
  EXPECT_EQ(path_below("/a/b/c/d", "/a/b/"), "c/d");
  EXPECT_EQ(path_below("/a/x", "/a/b"), "");
  EXPECT_EQ(path_below("/a/bc", "/a/b"), "");
  EXPECT_EQ(absolute_path("/a/./b/../c"), "/a/c");
}

TEST_F(FileBelow, DotsBehindALinkGoWhereTheSystemGoes) {
  fs::create_directories(dir_.file("out/deep"));
  fs::create_symlink(dir_.file("out/deep"), dir_.file("in/far"));
  const std::string there = fs::canonical(dir_.file("out")).string();
  EXPECT_EQ(absolute_path(dir_.file("in/far/../new")), there + "/new");
  EXPECT_EQ(absolute_path(dir_.file("in/far/new")), dir_.file("in/far/new"));
}

}  // namespace file_below_test
}  // namespace fatctx::mapping
