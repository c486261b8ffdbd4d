// A source as a file: what it cannot give is an error with the reason.
#include "container/fetch/source_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/no_regular_file.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace source_file_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

constexpr std::uint64_t kSize = 100'000;

TEST(SourceFile, BytesBehindItsEndAreNotAskedFor) {
  const RepairSource source{"memory", []() -> Result<std::uint64_t> { return kSize; },
                            [](const std::vector<ByteRange>& ranges, const TakeBytes& take) -> Status {
                              for (const ByteRange& range : ranges) {
                                EXPECT_LE(range.offset + range.size, kSize);
                                FATCTX_TRY(take(range.offset, Bytes(static_cast<std::size_t>(range.size))));
                              }
                              return Done{};
                            }};
  const auto file = SourceFile::open(source);
  ASSERT_TRUE(is_ok(file));
  Bytes bytes(10);
  EXPECT_TRUE(is_ok(file.value()->read_at(kSize - 10, bytes)));
  for (const std::uint64_t offset : {kSize - 9, kSize, ~std::uint64_t{0} - 20}) {
    const Status refused = file.value()->read_at(offset, bytes);
    ASSERT_TRUE(fails_with(refused, ErrorCode::kTruncated)) << offset;
    EXPECT_THAT(refused.error().message, HasSubstr("it has 100000 bytes"));
  }
}

TEST(SourceFile, OfAPathIsARegularFile) {
  const support::TempDir folder;
  for (const std::string& path : {folder.path(), std::string(support::kNoRegularFile)}) {
    EXPECT_TRUE(fails_with(SourceFile::open(source_here(path, {})), ErrorCode::kNotRegularFile)) << path;
  }
}

}  // namespace source_file_test
}  // namespace fatctx::container
