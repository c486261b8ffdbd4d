// Copies structs out of and into buffers, so that a checked value cannot change before it is used.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "fatctx/base/bytes.h"

namespace fatctx::container {

// Copies a struct out of `bytes`. Errors: malformed if it does not fit.
template <typename T>
[[nodiscard]] Result<T> copy_out(ByteView bytes, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 1);
  FATCTX_ASSIGN(const ByteView source, slice(bytes, {offset, sizeof(T)}));
  T copy;
  std::memcpy(&copy, source.data(), sizeof(T));
  return copy;
}

// Appends the bytes of a struct.
template <typename T>
void append_struct(std::vector<std::byte>& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 1);
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

[[nodiscard]] inline bool all_zero(ByteView bytes) noexcept {
  // Compares the bytes with themselves, shifted by one: a single memcmp, which is vectorised.
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// For reserved fields: compares word by word, which the compiler unrolls. A memcmp of bytes that were just copied waits
// for the copy.
template <typename T, std::size_t N>
[[nodiscard]] bool all_zero(const std::array<T, N>& bytes) noexcept {
  static_assert(sizeof(T) == 1);
  std::uint64_t any = 0;
  std::size_t at = 0;
  for (; at + sizeof(any) <= N; at += sizeof(any)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    any |= word;
  }
  for (; at < N; ++at) any |= static_cast<std::uint64_t>(bytes[at]);
  return any == 0;
}

}  // namespace fatctx::container
