#include "fatctx/base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace fatctx {
namespace nearest_test {

const std::vector<std::string> kWords = {"--json", "--records", "--record", "--strict"};

TEST(Nearest, FindsAWordWithATypo) {
  EXPECT_EQ(nearest("--jsno", kWords), "--json");
  EXPECT_EQ(nearest("--stict", kWords), "--strict");
  EXPECT_EQ(nearest("--recordz", kWords), "--records");
}

TEST(Nearest, FindsAWordThatWasCutShort) { EXPECT_EQ(nearest("--str", kWords), "--strict"); }

TEST(Nearest, FindsNothingThatIsFarAway) { EXPECT_EQ(nearest("--banana", kWords), std::nullopt); }

TEST(Nearest, FindsNothingAmongNoWords) { EXPECT_EQ(nearest("--json", {}), std::nullopt); }

}  // namespace nearest_test
}  // namespace fatctx
