#include "fatctx/base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace fatctx {
namespace checked_test {

constexpr std::uint64_t kMax = UINT64_MAX;

TEST(CheckedAdd, GivesTheSumUpToTheLastNumberAndNothingBeyond) {
  EXPECT_EQ(checked_add(2, 3), 5u);
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add(0, kMax), kMax);
  EXPECT_EQ(checked_add(kMax, 0), kMax);
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_add(1, kMax), std::nullopt);
  EXPECT_EQ(checked_add(kMax, kMax), std::nullopt);
}

TEST(CheckedMul, GivesTheProductUpToTheLastNumberAndNothingBeyond) {
  EXPECT_EQ(checked_mul(6, 7), 42u);
  EXPECT_EQ(checked_mul(0, kMax), 0u);
  EXPECT_EQ(checked_mul(kMax, 0), 0u);
  EXPECT_EQ(checked_mul(kMax, 1), kMax);
  EXPECT_EQ(checked_mul(3, kMax / 3), kMax);
  EXPECT_EQ(checked_mul(3, kMax / 3 + 1), std::nullopt);
  EXPECT_EQ(checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(checked_mul(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1), kMax - 0xffffffffu);
}

TEST(CheckedAlignUp, RoundsUpAndKeepsAlignedNumbers) {
  EXPECT_EQ(checked_align_up(0, 16), 0u);
  EXPECT_EQ(checked_align_up(1, 16), 0x10000u);
  EXPECT_EQ(checked_align_up(0x10000, 16), 0x10000u);
  EXPECT_EQ(checked_align_up(0x10001, 16), 0x20000u);
  EXPECT_EQ(checked_align_up(13, 0), 13u);
}

TEST(CheckedAlignUp, SaysNoInsteadOfWrappingAtEveryAlignment) {
  for (unsigned log2 = 1; log2 < 64; ++log2) {
    const std::uint64_t last = kMax << log2;  // the largest aligned number
    EXPECT_EQ(checked_align_up(last, log2), last) << log2;
    EXPECT_EQ(checked_align_up(last - 1, log2), last) << log2;
    EXPECT_EQ(checked_align_up(last + 1, log2), std::nullopt) << log2;
    EXPECT_EQ(checked_align_up(kMax, log2), std::nullopt) << log2;
  }
}

TEST(Narrow, KeepsWhatFitsAndRefusesTheRest) {
  EXPECT_EQ(narrow<std::uint8_t>(255), std::uint8_t{255});
  EXPECT_EQ(narrow<std::uint8_t>(256), std::nullopt);
  EXPECT_EQ(narrow<std::uint16_t>(0xffff), std::uint16_t{0xffff});
  EXPECT_EQ(narrow<std::uint16_t>(0x10000), std::nullopt);
  EXPECT_EQ(narrow<std::uint32_t>(0xffffffff), std::uint32_t{0xffffffff});
  EXPECT_EQ(narrow<std::uint32_t>(0x100000000), std::nullopt);
  EXPECT_EQ(narrow<std::uint64_t>(kMax), kMax);
}

}  // namespace checked_test
}  // namespace fatctx
