// Arithmetic on numbers that came from a file. Each function says "no" instead of wrapping.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

namespace fatctx {

[[nodiscard]] constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) noexcept {
  if (a > std::numeric_limits<std::uint64_t>::max() - b) return std::nullopt;
  return a + b;
}

[[nodiscard]] constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) noexcept {
  if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a) return std::nullopt;
  return a * b;
}

// `log2` must be below 64. Checks before rounding: a sum that wrapped to 0 would pass every later test.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_align_up(std::uint64_t value, unsigned log2) noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << log2) - 1;
  if (value > std::numeric_limits<std::uint64_t>::max() - mask) return std::nullopt;
  return (value + mask) & ~mask;
}

// The same number in a narrower unsigned type, or nothing if it does not fit.
template <typename To>
[[nodiscard]] constexpr std::optional<To> narrow(std::uint64_t value) noexcept {
  static_assert(std::is_unsigned_v<To>);
  if (value > std::numeric_limits<To>::max()) return std::nullopt;
  return static_cast<To>(value);
}

}  // namespace fatctx
