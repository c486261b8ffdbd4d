// Integers as a file stores them: little-endian, alignment 1, the same bytes on every host.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace fatctx {

template <typename T>
class LittleEndian {
 public:
  constexpr LittleEndian() noexcept = default;
  constexpr LittleEndian(T value) noexcept {  // implicit: `entry.size = 7;`
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_[i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
  }
  constexpr operator T() const noexcept {  // implicit: a disk integer reads like an integer
    // One load, which compilers do not reliably make of the loop.
    if constexpr (std::endian::native == std::endian::little) return std::bit_cast<T>(bytes_);
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>(value | (static_cast<T>(bytes_[i]) << (8 * i)));
    }
    return value;
  }

 private:
  std::array<std::byte, sizeof(T)> bytes_ = {};
};

using le16 = LittleEndian<std::uint16_t>;
using le32 = LittleEndian<std::uint32_t>;
using le64 = LittleEndian<std::uint64_t>;

static_assert(sizeof(le16) == 2 && alignof(le16) == 1);
static_assert(sizeof(le32) == 4 && alignof(le32) == 1);
static_assert(sizeof(le64) == 8 && alignof(le64) == 1);

}  // namespace fatctx
