#include "mapping/residency.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/mapped_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::mapping {
namespace residency_test {

using support::is_ok;
using support::TempDir;

class Residency : public testing::Test {
 protected:
  Residency() {
    const std::string path = folder_.file("mapped");
    support::write_file(path, support::pattern(kPages * page_size() + 100, 7));
    const auto file = open_for_reading(path).value();
    region_ = map_file(*file, kPages * page_size() + 100).value();
  }
  [[nodiscard]] ByteView bytes() const { return region_->bytes(); }

  static constexpr std::size_t kPages = 300;
  TempDir folder_;
  std::unique_ptr<MappedRegion> region_;
};

TEST_F(Residency, OfAMapThatNobodyTouchedIsNothingAlthoughTheFileIsCached) {
  const auto use = use_of_map(bytes());

  ASSERT_TRUE(is_ok(use));
  EXPECT_EQ(use.value().resident, 0U);
  EXPECT_EQ(resident_bytes(bytes()).value(), 0U);
}

TEST_F(Residency, CountsExactlyTheBytesOfTheRangeThatLieInPresentPages) {
  (void)support::touch(bytes());

  EXPECT_EQ(resident_bytes(bytes()).value(), bytes().size());
  EXPECT_EQ(resident_bytes(bytes().subspan(5, 1)).value(), 1U);
  EXPECT_EQ(resident_bytes(bytes().subspan(page_size() - 1, 2)).value(), 2U);
  EXPECT_EQ(resident_bytes(bytes().subspan(kPages * page_size())).value(), 100U) << "the last page is not whole";
  EXPECT_EQ(resident_bytes(bytes().first(0)).value(), 0U);
}

TEST_F(Residency, TheSumOverPagesIsWhatTheSystemSaysOfTheMap) {
  constexpr std::size_t kSize = std::size_t{16} << 20;
  const std::string path = folder_.file("sparse");
  support::write_file(path, {});
  std::filesystem::resize_file(path, kSize);
  const auto region = map_file(*open_for_reading(path).value(), kSize).value();
  (void)support::touch(region->bytes().first(40 * page_size()));
  (void)support::touch(region->bytes().subspan(kSize / 4 * 3, page_size()));

  const std::uint64_t by_page = resident_bytes(region->bytes()).value();
  const MapUse use = use_of_map(region->bytes()).value();

  EXPECT_EQ(by_page, use.resident);
  EXPECT_GE(by_page, 41 * page_size());
  EXPECT_LT(by_page, kSize / 2) << "the system maps neighbours, but not everything";
  EXPECT_LE(use.proportional, use.resident);
}

}  // namespace residency_test
}  // namespace fatctx::mapping
