// The words of HTTP headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fatctx::tools {

// Returns the text without blanks and ends of lines around it.
[[nodiscard]] std::string_view header_trimmed(std::string_view text) noexcept;
// Returns whether two texts are equal but for upper and lower case.
[[nodiscard]] bool equal_header_words(std::string_view a, std::string_view b) noexcept;
// Takes a decimal number from the front of a text. Nothing if there is none, or it is too large.
[[nodiscard]] std::optional<std::uint64_t> take_header_number(std::string_view& text) noexcept;
// Takes a word from the front of a text. Returns false if it is not there.
[[nodiscard]] bool take_header_word(std::string_view& text, std::string_view word) noexcept;

}  // namespace fatctx::tools
