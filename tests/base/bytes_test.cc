#include "fatctx/base/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace fatctx {
namespace bytes_test {

constexpr std::uint64_t kMax = UINT64_MAX;

// The expectation uses a wider integer, so that it cannot share a mistake with the code under test.
__extension__ using Wide = unsigned __int128;
bool fits(ByteRange range, std::uint64_t limit) { return Wide{range.offset} + Wide{range.size} <= Wide{limit}; }

TEST(Within, AgreesWithWiderArithmeticAtEveryBoundary) {
  constexpr std::array<std::uint64_t, 14> kNumbers = {
      0, 1, 2, 7, 8, 9, 0x7fffffff, kMax / 2, kMax / 2 + 1, kMax / 2 + 2, kMax - 9, kMax - 8, kMax - 1, kMax};
  int inside = 0;
  for (const auto offset : kNumbers) {
    for (const auto size : kNumbers) {
      for (const auto limit : kNumbers) {
        EXPECT_EQ(within({offset, size}, limit), fits({offset, size}, limit)) << offset << ' ' << size << ' ' << limit;
        inside += within({offset, size}, limit) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(inside, 100);  // the table has both answers
}

TEST(Within, ARangeWhoseEndWrapsIsOutside) {
  EXPECT_FALSE(within({kMax, 1}, kMax));
  EXPECT_FALSE(within({kMax - 7, 16}, 100));  // 8 after wrapping
  EXPECT_FALSE(within({8, kMax - 7}, 100));   // 0 after wrapping
}

TEST(Slice, GivesTheNamedBytesOfTheWhole) {
  const std::array<std::byte, 5> whole = {std::byte{10}, std::byte{11}, std::byte{12}, std::byte{13}, std::byte{14}};

  const auto part = slice(whole, {1, 3});
  const auto everything = slice(whole, {0, 5});
  const auto nothing_at_the_end = slice(whole, {5, 0});

  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part.value().data(), whole.data() + 1);
  EXPECT_EQ(part.value().size(), 3u);
  ASSERT_TRUE(everything.ok());
  EXPECT_EQ(everything.value().size(), 5u);
  ASSERT_TRUE(nothing_at_the_end.ok());
  EXPECT_TRUE(nothing_at_the_end.value().empty());
}

TEST(Slice, RefusesRangesThatLeaveTheWholeAndSaysWhere) {
  const std::array<std::byte, 5> whole = {};
  constexpr std::array<ByteRange, 5> kOutside = {{{0, 6}, {1, 5}, {6, 0}, {kMax, 2}, {3, kMax - 1}}};
  for (const ByteRange range : kOutside) {
    const auto part = slice(whole, range);

    ASSERT_FALSE(part.ok()) << range.offset << ' ' << range.size;
    EXPECT_EQ(part.error().code, ErrorCode::kMalformed);
    EXPECT_EQ(part.error().where.file_offset, range.offset);
  }
}

}  // namespace bytes_test
}  // namespace fatctx
