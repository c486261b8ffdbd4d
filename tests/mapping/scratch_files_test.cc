#include "mapping/scratch_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "support/result_matchers.h"
#include "support/set_variable.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace scratch_files_test {

namespace fs = std::filesystem;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ScratchFiles, AreWrittenByPathReadBackAndGone) {
  std::string first;
  std::string second;
  {
    const auto files = ScratchFiles::make(2);
    ASSERT_TRUE(support::is_ok(files));
    first = files.value().path(0);
    second = files.value().path(1);
    EXPECT_NE(first, second);
    std::ofstream(first, std::ios::binary | std::ios::trunc) << "one";
    // The way of a library that knows the folder of the first file, and the name of the second.
    const fs::path beside = fs::path(first).parent_path() / files.value().name(1);
    std::ofstream(beside, std::ios::binary | std::ios::trunc) << "longer than one";
    EXPECT_EQ(read(first), "one");
    EXPECT_EQ(read(second), "longer than one");
  }
  EXPECT_NE(read(first), "one");
  EXPECT_NE(read(second), "longer than one");
}

#if defined(__linux__)
TEST(ScratchFiles, LeaveNothingOnADiskOnLinux) {
  const support::TempDir dir;
  const support::SetVariable temporary("TMPDIR", dir.path());
  const auto files = ScratchFiles::make(2);
  ASSERT_TRUE(support::is_ok(files));
  std::ofstream(files.value().path(0), std::ios::binary) << "one";

  EXPECT_TRUE(files.value().in_memory());
  EXPECT_TRUE(fs::is_empty(dir.path()));
}
#endif

}  // namespace scratch_files_test
}  // namespace fatctx::mapping
