#include "base/json_lexer.h"

#include <charconv>

#include "base/utf8.h"

namespace fatctx {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

template <typename T>
bool fits(std::string_view written, T& into) noexcept {
  return std::from_chars(written.data(), written.data() + written.size(), into).ec == std::errc();
}

}  // namespace

JsonLexer::JsonLexer(std::string_view text) noexcept
    : text_(text), at_(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0) {}

bool JsonLexer::word(std::string_view letters) noexcept {
  for (const char letter : letters) {
    if (!take(letter)) return false;
  }
  return true;
}

bool JsonLexer::digits() noexcept {
  if (at_end() || !is_digit(text_[at_])) return false;
  while (!at_end() && is_digit(text_[at_])) ++at_;
  return true;
}

bool JsonLexer::number(JsonNumber& into) noexcept {
  const std::size_t start = at_;
  const bool negative = take('-');
  if (!take('0') && !digits()) return false;
  bool whole = true;
  if (take('.')) {
    whole = false;
    if (!digits()) return false;
  }
  if (take('e') || take('E')) {
    whole = false;
    if (!take('+')) (void)take('-');
    if (!digits()) return false;
  }
  into = {.written = text_.substr(start, at_ - start)};
  if (!whole) return true;
  if (negative) {
    if (fits(into.written, into.negative)) into.kind = JsonNumber::Kind::kNegative;
  } else if (fits(into.written, into.natural)) {
    into.kind = JsonNumber::Kind::kNatural;
  }
  return true;
}

bool JsonLexer::text(std::string& into) {
  if (!take('"')) return false;
  while (!at_end() && text_[at_] != '"') {
    if (text_[at_] == '\\') {
      if (!escape(into)) return false;
      continue;
    }
    const auto point = decode_utf8(text_, at_);
    if (!point || point->value < 0x20) return false;
    into.append(text_, at_, point->size);
    at_ += point->size;
  }
  return take('"');
}

bool JsonLexer::escape(std::string& into) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  ++at_;  // skips the backslash
  if (at_end()) return false;
  if (take('u')) return code_point(into);
  const auto letter = kLetters.find(text_[at_]);
  if (letter == std::string_view::npos) return false;
  ++at_;
  into += kMeanings[letter];
  return true;
}

// Reads what follows "\u": four digits, or a pair of surrogates.
bool JsonLexer::code_point(std::string& into) {
  std::uint32_t value = 0;
  if (!four_digits(value)) return false;
  if (value >= 0xdc00 && value <= 0xdfff) return false;
  if (value >= 0xd800 && value <= 0xdbff) {
    std::uint32_t low = 0;
    if (!take('\\') || !take('u') || !four_digits(low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return false;
    value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(into, value);
  return true;
}

bool JsonLexer::four_digits(std::uint32_t& value) noexcept {
  constexpr std::size_t kDigits = 4;
  const std::string_view digits = text_.substr(at_, kDigits);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  at_ += static_cast<std::size_t>(read.ptr - digits.data());
  return read.ec == std::errc() && digits.size() == kDigits && read.ptr == digits.data() + kDigits;
}

}  // namespace fatctx
