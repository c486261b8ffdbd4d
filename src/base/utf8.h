// Decodes and encodes UTF-8, one code point at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fatctx {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t size = 0;  // bytes
};

// Returns the code point that starts at `at`, or nothing if the bytes there are not well-formed (Unicode 15, table
// 3-7).
// Requires: at < text.size().
[[nodiscard]] std::optional<CodePoint> decode_utf8(std::string_view text, std::size_t at) noexcept;

// Returns how many bytes of `text` to keep so that at most `most` remain and no character is cut.
[[nodiscard]] std::size_t whole_characters(std::string_view text, std::size_t most) noexcept;

// Appends a code point. Requires: `value` is a code point and not a surrogate.
void append_utf8(std::string& text, std::uint32_t value);

}  // namespace fatctx
