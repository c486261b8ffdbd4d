#include "mapping/cache_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "support/child_process.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace cache_folder_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class CacheFolderFiles : public ::testing::Test {
 protected:
  CacheFolderFiles() { EXPECT_EQ(::chmod(temp_.path().c_str(), 0700), 0); }
  [[nodiscard]] CacheFolder open() const { return CacheFolder::open(temp_.path()).value(); }
  void make(const std::string& name, std::int64_t age_seconds = 0) const {
    support::write_file(temp_.file(name), Bytes(100, std::byte{1}));
    const std::time_t when = ::time(nullptr) - age_seconds;
    const struct timespec times[2] = {{when, 0}, {when, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, temp_.file(name).c_str(), times, 0), 0);
  }
  const support::TempDir temp_;
};

TEST_F(CacheFolderFiles, AFolderThatIsNotTheCallersAloneIsRefusedWithTheRemedy) {
  for (const mode_t mode : {0755U, 0770U, 0701U, 0500U, 0777U}) {
    ASSERT_EQ(::chmod(temp_.path().c_str(), mode), 0);
    const auto refused = CacheFolder::open(temp_.path());
    ASSERT_TRUE(fails_with(refused, ErrorCode::kOperationNotPermitted)) << mode;
    EXPECT_NE(refused.error().message.find("chmod 700 " + temp_.path()), std::string::npos) << refused.error().message;
  }
  ASSERT_EQ(::chmod(temp_.path().c_str(), 0700), 0);
  EXPECT_TRUE(is_ok(CacheFolder::open(temp_.path())));

  make("file");
  EXPECT_TRUE(fails_with(CacheFolder::open(temp_.file("file")), ErrorCode::kOperationNotPermitted));
  const auto missing = CacheFolder::open(temp_.file("missing"));
  ASSERT_TRUE(fails_with(missing, ErrorCode::kNotFound));
  EXPECT_NE(missing.error().message.find("mkdir -m 700"), std::string::npos) << missing.error().message;
  EXPECT_FALSE(CacheFolder::open("").ok());
}

TEST_F(CacheFolderFiles, AFolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const int result = support::in_child([&] {
    if (::chown(temp_.path().c_str(), 12345, 12345) != 0) return support::kChildSkipped;
    const auto refused = CacheFolder::open(temp_.path());
    if (refused.ok() || refused.error().code != ErrorCode::kOperationNotPermitted) return 1;
    if (refused.error().message.find("12345") == std::string::npos) return 2;
    return ::chown(temp_.path().c_str(), 0, 0) == 0 ? 0 : 3;
  });
  if (result == support::kChildSkipped) GTEST_SKIP() << "a folder cannot be given away here";
  EXPECT_EQ(result, 0);
}

TEST_F(CacheFolderFiles, AFileAppearsWholeAndOnce) {
  const CacheFolder folder = open();
  auto first = folder.create_file("view").value();
  auto second = folder.create_file("view").value();
  ASSERT_TRUE(is_ok(first->file().write_at(0, Bytes(10, std::byte{1}))));
  EXPECT_TRUE(folder.list().value().empty()) << "nothing is seen before it is whole";
  ASSERT_TRUE(is_ok(first->publish(true)));
  EXPECT_TRUE(fails_with(second->publish(true), ErrorCode::kExists));
  second.reset();
  EXPECT_EQ(temp_.names(), std::vector<std::string>{"view"});
  EXPECT_EQ(folder.list().value().front().size, 10U);
  struct stat st = {};
  ASSERT_EQ(::stat(temp_.file("view").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0222U, 0U) << "nobody writes to it again";
  EXPECT_TRUE(fails_with(folder.create_file("view"), ErrorCode::kExists));
}

TEST_F(CacheFolderFiles, UseIsNotedApartFromTheTimeItWasMade) {
  make("view", 5000);
  const CacheFolder folder = open();
  const auto before = folder.list().value().front();
  EXPECT_EQ(before.used, before.made);
  folder.mark_used(*folder.open_file("view").value());
  const auto after = folder.list().value().front();
  EXPECT_EQ(after.made, before.made) << "a change of the content would show here";
  EXPECT_GE(after.used.seconds, before.used.seconds + 4999);
}

TEST_F(CacheFolderFiles, ReadingIsNoUse) {
  make("view", 90000);  // older than a day, and not used since it was created: a read would set the access time
  const CacheFolder folder = open();
  const auto file = folder.open_file("view").value();
  Bytes some(10);
  ASSERT_TRUE(is_ok(file->read_at(0, some)));
  const auto found = folder.list().value().front();
  EXPECT_EQ(found.used, found.made);
}

TEST_F(CacheFolderFiles, NoLinksAreFollowed) {
  make("target");
  ASSERT_EQ(::symlink("target", temp_.file("link").c_str()), 0);
  const CacheFolder folder = open();
  EXPECT_TRUE(fails_with(folder.open_file("link"), ErrorCode::kNotRegularFile));
  EXPECT_EQ(folder.list().value().size(), 1U);
}

TEST_F(CacheFolderFiles, OnlyTheFileThatIsMeantIsRemoved) {
  make("view");
  const CacheFolder folder = open();
  const auto old = folder.open_file("view").value();
  make("new");
  ASSERT_EQ(::rename(temp_.file("new").c_str(), temp_.file("view").c_str()), 0);
  folder.remove_if_same("view", old->identity().value());
  EXPECT_EQ(folder.list().value().size(), 1U);
  folder.remove_if_same("view", folder.open_file("view").value()->identity().value());
  EXPECT_TRUE(folder.list().value().empty());
  EXPECT_TRUE(folder.remove("view")) << "it is not there, which is what was wanted";
}

TEST_F(CacheFolderFiles, TemporariesGoWhenTheyAreOldAndTheirMakerIsDead) {
  make(".old.0123.tmp", 1000);
  make(".held.0123.tmp", 1000);
  make(".young.0123.tmp", 5);
  make(".other", 1000);
  make("view.tmp", 1000);
  const UniqueFd maker(::open(temp_.file(".held.0123.tmp").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(maker.get(), F_OFD_SETLK, &lock), 0);
  const CacheFolder folder = open();
  EXPECT_EQ(folder.sweep_temporaries(60).value(), 1U);
  EXPECT_EQ(temp_.names(), (std::vector<std::string>{".held.0123.tmp", ".other", ".young.0123.tmp", "view.tmp"}));
}

}  // namespace cache_folder_test
}  // namespace fatctx::mapping
