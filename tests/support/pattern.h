// Bytes in which every position can be recognized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fatctx::support {

// Returns `size` bytes that depend on `seed`. They are never zero, and differ at all offsets that a test may confuse.
[[nodiscard]] inline std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(1 + (state >> 24) % 255);
  }
  return bytes;
}

}  // namespace fatctx::support
