// Repair of files on disk: the lock, the refusals, and that a whole file is not touched.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/repair.h"
#include "mapping/os_file.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace repair_file_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RepairFile : public ::testing::Test {
 protected:
  void write(Bytes bytes) { support::write_file(path_, bytes); }
  static Bytes damaged(Bytes bytes) {
    bytes[0x1000 + 20] ^= std::byte{1};
    return bytes;
  }
  // Its size and times.
  [[nodiscard]] mapping::FileIdentity look() const {
    return mapping::open_for_reading(path_).value()->identity().value();
  }

  support::TempDir folder_;
  std::string path_ = folder_.file("m.fatctx");
};

TEST_F(RepairFile, ASealedFileThatIsWholeIsNotTouchedNotEvenItsTimes) {
  write(support::sealed_sample());
  const mapping::FileIdentity before = look();

  const auto report = repair(path_);

  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(report.value().restored.empty());
  EXPECT_TRUE(report.value().remaining.empty());
  EXPECT_TRUE(look() == before);
  EXPECT_TRUE(support::read_file(path_) == support::sealed_sample());
}

TEST_F(RepairFile, ADamagedFileIsWholeAgainAndAnOpenContainerGoesOn) {
  for (const Bytes& whole : {support::unsealed_sample(), support::sealed_sample()}) {
    write(damaged(whole));
    const Container open = Container::open(path_).value();
    EXPECT_THAT(support::report_of(open).degraded, ::testing::ElementsAre("slot A0"));

    ASSERT_TRUE(is_ok(repair(path_, {.dry_run = true})));
    EXPECT_TRUE(support::read_file(path_) == damaged(whole));
    ASSERT_TRUE(is_ok(repair(path_)));

    EXPECT_TRUE(support::read_file(path_) == whole);
    EXPECT_TRUE(is_ok(open.acquire(1)));
    EXPECT_TRUE(is_ok(open.check()));
  }
}

TEST_F(RepairFile, AFileThatIsBeingAppendedToIsLocked) {
  write(damaged(support::unsealed_sample()));
  const auto appender = Appender::open(path_);
  ASSERT_TRUE(is_ok(appender));

  EXPECT_TRUE(fails_with(repair(path_), ErrorCode::kLocked));
  EXPECT_TRUE(is_ok(repair(path_, {.dry_run = true}))) << "looking takes no lock";
}

TEST_F(RepairFile, LinksFoldersAndMissingFilesAreRefused) {
  write(damaged(support::unsealed_sample()));
  const std::string link = folder_.file("link");
  std::filesystem::create_symlink(path_, link);
  for (const bool dry_run : {false, true}) {
    EXPECT_TRUE(fails_with(repair(link, {.dry_run = dry_run}), ErrorCode::kNotRegularFile)) << dry_run;
    EXPECT_TRUE(fails_with(repair(folder_.path(), {.dry_run = dry_run}), ErrorCode::kNotRegularFile)) << dry_run;
    EXPECT_TRUE(fails_with(repair(folder_.file("nothing"), {.dry_run = dry_run}), ErrorCode::kNotFound)) << dry_run;
  }
  EXPECT_TRUE(support::read_file(path_) == damaged(support::unsealed_sample()));
}

TEST_F(RepairFile, AReadOnlyFileIsRefusedWithTheRemedyUnlessItIsWhole) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write to every file";
  write(damaged(support::sealed_sample()));
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);

  const auto refused = repair(path_);

  ASSERT_TRUE(fails_with(refused, ErrorCode::kOperationNotPermitted));
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("slot A0 is damaged"), HasSubstr("chmod u+w")));
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  write(support::sealed_sample());
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  const auto whole = repair(path_);
  ASSERT_TRUE(is_ok(whole));
  EXPECT_FALSE(whole.value().dry_run);
}

}  // namespace repair_file_test
}  // namespace fatctx
