// Numbers in a model's data: little-endian, on any machine.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace fatctx::tools {

// Returns the bytes of a number as a model stores them.
template <typename T>
std::array<std::byte, sizeof(T)> stored_bytes(T number) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(number);
  if constexpr (std::endian::native == std::endian::big) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

// Returns the number whose stored bytes begin at `raw`.
template <typename T>
T stored_number(const char* raw) {
  std::array<std::byte, sizeof(T)> bytes;
  std::transform(raw, raw + sizeof(T), bytes.begin(), [](char byte) { return static_cast<std::byte>(byte); });
  if constexpr (std::endian::native == std::endian::big) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

}  // namespace fatctx::tools
