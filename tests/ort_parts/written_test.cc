// A compilation that fails removes its own records, and nothing that others have added meanwhile.
#include "runtime/ort/ep/written.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::ort {
namespace written_test {

using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

PackReport pack(const std::string& path, std::uint32_t seed) {
  PackRecord record;
  record.type = RecordType::kOpaque;
  record.name = "only";
  record.source.bytes = support::pattern(1000, seed);
  Packer packer{PackOptions{}};
  EXPECT_TRUE(is_ok(packer.add(std::move(record))));
  return packer.publish(path).value();
}

TEST(Written, ANewContainerGoesAgain) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  const Written written = Written::packed(pack(path, 1), std::nullopt);
  ASSERT_TRUE(is_ok(written.take_back()));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Written, TheContainerOfSomebodyElseStays) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  const Written written = Written::packed(pack(path, 1), std::nullopt);
  std::filesystem::remove(path);
  pack(path, 2);
  const auto before = support::read_file(path);

  const auto taken = written.take_back();

  ASSERT_TRUE(fails_with(taken, ErrorCode::kChanged));
  EXPECT_THAT(taken.error().message,
              HasSubstr("m.fatctx: somebody has put another container there; compile the model again"));
  EXPECT_EQ(support::read_file(path), before);
}

}  // namespace written_test
}  // namespace fatctx::ort
