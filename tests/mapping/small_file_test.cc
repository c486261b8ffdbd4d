#include "mapping/small_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace small_file_test {

using support::TempDir;

TEST(SmallFile, GivesWhatThereIsUpToTheLimit) {
  const TempDir folder;
  std::ofstream(folder.file("a")) << "Snapdragon\n";

  EXPECT_EQ(read_small_file(folder.file("a"), 4096).value(), "Snapdragon\n");
  EXPECT_EQ(read_small_file(folder.file("a"), 11).value(), "Snapdragon\n");
  EXPECT_EQ(read_small_file(folder.file("a"), 4).value(), "Snap");
}

// The kernel reports a size of 0 or one page for its files, whatever their content.
TEST(SmallFile, DoesNotBelieveTheSize) {
  const auto text = read_small_file("/proc/self/stat", 4096);

  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_GT(text.value().size(), 10u);
  EXPECT_LT(text.value().size(), 4096u);
}

TEST(SmallFile, NeverWaitsForAWriter) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);

  EXPECT_EQ(read_small_file(folder.file("fifo"), 10).error().code, ErrorCode::kNotRegularFile);
  EXPECT_EQ(read_small_file(folder.path(), 10).error().code, ErrorCode::kNotRegularFile);
  EXPECT_EQ(read_small_file(folder.file("absent"), 10).error().code, ErrorCode::kNotFound);
}

}  // namespace small_file_test
}  // namespace fatctx::mapping
