// Fractions in decimal digits, whatever the standard library and the locale.
#include <gtest/gtest.h>

#include <string_view>

#include "base/json.h"

namespace fatctx {
namespace real_number_test {

TEST(RealNumber, ReadsDecimalNumbers) {
  EXPECT_EQ(real_number("0.5"), 0.5);
  EXPECT_EQ(real_number("-12"), -12.0);
  EXPECT_EQ(real_number(".25"), 0.25);
  EXPECT_EQ(real_number("1e-3"), 0.001);
  EXPECT_EQ(real_number("2.5E+2"), 250.0);
}

TEST(RealNumber, RefusesAllOtherTexts) {
  for (const char* const text : {"", " 1", "1 ", "+1", "1,5", "0x10", "inf", "nan", "1.2.3", "e5", "-", "1e999"}) {
    EXPECT_EQ(real_number(text), std::nullopt) << text;
  }
  EXPECT_EQ(real_number(std::string_view("1\0", 2)), std::nullopt);
}

}  // namespace real_number_test
}  // namespace fatctx
