// The bytes of a fuzz input, taken from the front. Once they are used up, numbers are zero and ranges empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "fatctx/base/bytes.h"

namespace fatctx::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const std::byte*>(data), size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::uint64_t number(std::size_t bytes) {  // little-endian
    std::uint64_t value = 0;
    const ByteView taken = take(bytes);
    for (std::size_t i = 0; i < taken.size(); ++i) value |= std::to_integer<std::uint64_t>(taken[i]) << (8 * i);
    return value;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  // Lifetime: borrows from the input.
  ByteView take(std::uint64_t size) {
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(size, rest_.size()));
    const ByteView bytes = rest_.first(taken);
    rest_ = rest_.subspan(taken);
    return bytes;
  }
  ByteView rest() { return take(rest_.size()); }

 private:
  ByteView rest_;
};

[[nodiscard]] inline std::string_view text_of(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace fatctx::fuzz
