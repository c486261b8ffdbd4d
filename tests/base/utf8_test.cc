#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace fatctx {
namespace utf8_test {

TEST(Utf8, KeepsWholeCharacters) {
  constexpr std::string_view kText = "a\xc3\xa9\xe2\x82\xac";  // a character of one, of two and of three bytes
  const std::size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6};
  for (std::size_t most = 0; most < std::size(kept); ++most) {
    EXPECT_EQ(whole_characters(kText, most), kept[most]) << most;
  }
  EXPECT_EQ(whole_characters("\x80\x80\x80", 2), 0U) << "bytes that begin no character";
}

}  // namespace utf8_test
}  // namespace fatctx
