#include "fatctx/base/little_endian.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace fatctx {
namespace little_endian_test {

template <typename Integer>
auto bytes_of(const Integer& integer) {
  std::array<unsigned char, sizeof(Integer)> bytes;
  std::memcpy(bytes.data(), &integer, sizeof(Integer));
  return bytes;
}

TEST(LittleEndian, LowestByteComesFirst) {
  EXPECT_EQ(bytes_of(le16(0x0102)), (std::array<unsigned char, 2>{2, 1}));
  EXPECT_EQ(bytes_of(le32(0x01020304)), (std::array<unsigned char, 4>{4, 3, 2, 1}));
  EXPECT_EQ(bytes_of(le64(0x0102030405060708)), (std::array<unsigned char, 8>{8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(LittleEndian, ReadsBackWhatWasWrittenForEveryBit) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t value = (std::uint64_t{1} << bit) | 0x81;
    EXPECT_EQ(le64(value), value) << bit;
    EXPECT_EQ(le32(static_cast<std::uint32_t>(value)), static_cast<std::uint32_t>(value)) << bit;
    EXPECT_EQ(le16(static_cast<std::uint16_t>(value)), static_cast<std::uint16_t>(value)) << bit;
  }
}

TEST(LittleEndian, LiesAtOddAddresses) {
  std::array<unsigned char, 12> buffer = {};
  const le64 value = 0x1122334455667788;
  std::memcpy(buffer.data() + 3, &value, sizeof value);

  le64 copy;
  std::memcpy(&copy, buffer.data() + 3, sizeof copy);

  EXPECT_EQ(copy, 0x1122334455667788u);
}

TEST(LittleEndian, StartsAsZero) {
  EXPECT_EQ(le16(), 0u);
  EXPECT_EQ(le32(), 0u);
  EXPECT_EQ(le64(), 0u);
}

}  // namespace little_endian_test
}  // namespace fatctx
