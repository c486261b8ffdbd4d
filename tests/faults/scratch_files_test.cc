// Scratch files of a system that gives no files in memory.
#include "mapping/scratch_files.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "faults/os_faults.h"
#include "support/result_matchers.h"
#include "support/set_variable.h"
#include "support/temp_dir.h"

namespace fatctx::faults {
namespace scratch_files_test {

namespace fs = std::filesystem;

TEST(ScratchFiles, AreInAPrivateFolderIfTheSystemHasNoneInMemoryAndTheFolderGoes) {
  const support::TempDir dir;
  const support::SetVariable temporary("TMPDIR", dir.path());
  for (const long call : {0L, 1L}) {  // the first or the second file
    const Injected fault({.error_number = ENOSYS, .call = call, .descriptors_only = true});
    const auto files = mapping::ScratchFiles::make(2);
    ASSERT_TRUE(fault.met());
    EXPECT_EQ(fault.call(), "memfd_create");
    ASSERT_TRUE(support::is_ok(files));
    EXPECT_FALSE(files.value().in_memory());
    std::ofstream(files.value().path(0)) << "one";
    std::ofstream(files.value().path(1)) << "two";
    const fs::path folder = fs::path(files.value().path(0)).parent_path();
    EXPECT_EQ(folder.parent_path(), fs::path(dir.path()));
    EXPECT_EQ(folder / files.value().name(1), fs::path(files.value().path(1)));
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
    EXPECT_EQ(fs::file_size(folder / files.value().name(1)), 3U);
  }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

}  // namespace scratch_files_test
}  // namespace fatctx::faults
