// The rolling value that cuts records into chunks and marks their anchors. It costs one addition and one shift a byte,
// and a byte drops out of it after 64 others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fatctx::container::sharing {

inline constexpr std::size_t kGearWindow = 64;  // bytes that a rolling value of 64 bits remembers

// Makes the table of the rolling value. Equal inputs give equal files only with this table: another one gives other
// chunks and anchors, and so another order of work.
[[nodiscard]] constexpr std::array<std::uint64_t, 256> make_gear() {
  std::array<std::uint64_t, 256> gear = {};
  std::uint64_t state = 0x66617463;
  for (std::uint64_t& value : gear) {  // splitmix64
    state += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    value = mixed ^ (mixed >> 31);
  }
  return gear;
}
inline constexpr std::array<std::uint64_t, 256> kGear = make_gear();

[[nodiscard]] constexpr std::uint64_t roll(std::uint64_t rolling, std::byte byte) noexcept {
  return (rolling << 1) + kGear[static_cast<std::size_t>(byte)];
}

}  // namespace fatctx::container::sharing
