#include "runtime/device/arch.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace fatctx::runtime {
namespace arch_test {

using Words = std::vector<std::string_view>;

TEST(CpuArch, TakesX86LevelsApartAndLeavesOtherTextsWhole) {
  EXPECT_EQ(parse_cpu_arch("x86-64-v3").isa, "x86-64");
  EXPECT_EQ(parse_cpu_arch("x86-64-v3").level, 3u);
  EXPECT_EQ(parse_cpu_arch("x86-64-v12").level, 12u);
  EXPECT_EQ(parse_cpu_arch("x86-64").level, 1u);
  EXPECT_EQ(parse_cpu_arch("aarch64").isa, "aarch64");
  EXPECT_EQ(parse_cpu_arch("aarch64").level, 0u);
  for (const std::string_view odd :
       {"x86-64-v", "x86-64-v0", "x86-64-v03", "x86-64-v3 ", "x86-64-v3x", "x86-64-v99999999999", ""}) {
    EXPECT_EQ(parse_cpu_arch(odd).isa, odd);
    EXPECT_EQ(parse_cpu_arch(odd).level, 0u) << odd;
  }
}

TEST(HexagonNumber, IsReadFromItsExactFormOnly) {
  EXPECT_EQ(hexagon_number("v75"), 75u);
  EXPECT_EQ(hexagon_number("v8"), 8u);
  for (const std::string_view odd : {"", "v", "75", "V75", "v075", "v0", "v75a", "v-75", " v75", "v4294967296"}) {
    EXPECT_EQ(hexagon_number(odd), std::nullopt) << odd;
  }
}

TEST(FeatureWords, AreTheNonEmptyPartsOfTheList) {
  EXPECT_EQ(feature_words(""), Words{});
  EXPECT_EQ(feature_words("amx"), Words{"amx"});
  EXPECT_EQ(feature_words("amx,dotprod,sve2"), (Words{"amx", "dotprod", "sve2"}));
  EXPECT_EQ(feature_words(",amx,,sve,"), (Words{"amx", "sve"}));
}

TEST(FeatureWords, MissingOnesAreComparedWhole) {
  EXPECT_EQ(missing_words("dotprod,sve,sve2", {"dotprod", "sve2"}), Words{"sve"});
  EXPECT_EQ(missing_words("sve", {"sve2"}), Words{"sve"});
  EXPECT_EQ(missing_words("", {"sve2"}), Words{});
}

TEST(Generic, IsARecordThatIsMarkedOrAsksForNothingButABackend) {
  EXPECT_TRUE(is_generic({.backend = "cpu"}));
  EXPECT_TRUE(is_generic({.part = "ALL"}));
  EXPECT_TRUE(is_generic({.arch = "aarch64", .generic = true}));
  EXPECT_FALSE(is_generic({.part = "SM8650"}));
  EXPECT_FALSE(is_generic({.qnn_soc = 57}));
  EXPECT_FALSE(is_generic({.arch = "v75"}));
  EXPECT_FALSE(is_generic({.features = "sve"}));
}

}  // namespace arch_test
}  // namespace fatctx::runtime
