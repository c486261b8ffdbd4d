// A file is only replaced if it is still the one that was read, and the one that is locked.
#include "container/edit/replacing.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "mapping/append_file.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace replacing_test {

using support::fails_with;
using support::is_ok;

class ReplacingFile : public ::testing::Test {
 protected:
  ReplacingFile() { support::write_file(path_, support::Bytes(5'000, std::byte{1})); }

  void put_another_in_its_place() {
    support::write_file(folder_.file("other"), support::Bytes(5'000, std::byte{2}));
    std::filesystem::rename(folder_.file("other"), path_);
  }
  [[nodiscard]] mapping::FileIdentity now() const { return mapping::stat_path(path_, {}).value(); }

  const support::TempDir folder_;
  const std::string path_ = folder_.file("m.fatctx");
};

TEST_F(ReplacingFile, IsTheOneThatWasRead) {
  const auto replacing = Replacing::begin(path_);
  ASSERT_TRUE(is_ok(replacing));
  const mapping::FileIdentity source = now();
  EXPECT_TRUE(is_ok(replacing.value().check(path_, source)));
  mapping::FileIdentity of_other_size = source;
  ++of_other_size.size;
  EXPECT_TRUE(fails_with(replacing.value().check(path_, of_other_size), ErrorCode::kChanged));
  mapping::FileIdentity of_other_time = source;
  ++of_other_time.modified.nanoseconds;
  EXPECT_TRUE(fails_with(replacing.value().check(path_, of_other_time), ErrorCode::kChanged));
  put_another_in_its_place();
  EXPECT_TRUE(fails_with(replacing.value().check(path_, source), ErrorCode::kChanged));
}

// The source is read from the file that took the place of the locked one. Nobody is kept from writing to that file.
TEST_F(ReplacingFile, IsTheOneThatIsLocked) {
  const auto replacing = Replacing::begin(path_);
  ASSERT_TRUE(is_ok(replacing));
  put_another_in_its_place();
  EXPECT_TRUE(fails_with(replacing.value().check(path_, now()), ErrorCode::kChanged));
}

TEST_F(ReplacingFile, IsNotALinkToIt) {
  const std::string link = folder_.file("link");
  std::filesystem::create_symlink(path_, link);
  EXPECT_TRUE(fails_with(Replacing::begin(link), ErrorCode::kNotRegularFile));
  EXPECT_TRUE(is_ok(is_in_place(path_, path_)));
  EXPECT_FALSE(is_in_place(path_, link).value()) << "the link itself would be replaced";
}

}  // namespace replacing_test
}  // namespace fatctx::container
