// Reads the tokens of a JSON text (RFC 8259): blanks, words, numbers, strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fatctx {

struct JsonNumber {
  enum class Kind : std::uint8_t { kNatural, kNegative, kOther };
  Kind kind = Kind::kOther;  // kOther: with a fraction or an exponent, or of more than 64 bits
  std::uint64_t natural = 0;
  std::int64_t negative = 0;
  std::string_view written = {};
};

// A lexer that goes through the text once. Every function stops behind its token, or at the byte that it refuses.
class JsonLexer {
 public:
  // Skips a byte order mark.
  explicit JsonLexer(std::string_view text) noexcept;

  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] bool at_end() const noexcept { return at_ == text_.size(); }
  [[nodiscard]] bool next_is(char c) const noexcept { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) noexcept {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  void skip_blanks() noexcept {
    while (next_is(' ') || next_is('\n') || next_is('\t') || next_is('\r')) ++at_;
  }

  // Reads a word. Returns false if the text continues with something else.
  [[nodiscard]] bool word(std::string_view letters) noexcept;
  [[nodiscard]] bool number(JsonNumber& into) noexcept;
  [[nodiscard]] bool text(std::string& into);

 private:
  bool digits() noexcept;
  bool escape(std::string& into);
  bool code_point(std::string& into);
  bool four_digits(std::uint32_t& value) noexcept;

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace fatctx
