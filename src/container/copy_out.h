// Structs out of and into buffers, by copy: what was checked is what is used.
#pragma once

#include <algorithm>
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
  // Equal to its own shifted self and starting with zero: one memcmp, which is vectorised.
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

template <typename T, std::size_t N>
[[nodiscard]] bool all_zero(const std::array<T, N>& bytes) noexcept {
  return all_zero(ByteView(bytes));
}

}  // namespace fatctx::container
