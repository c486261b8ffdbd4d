#include "tools/inspect/filters.h"

#include <cstddef>

namespace fatctx::tools {

namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool fits_pattern(std::string_view pattern, std::string_view text) noexcept {
  if (pattern.empty()) return true;
  std::size_t at = 0;
  std::size_t in_text = 0;
  std::size_t star = std::string_view::npos;  // the last one, and where the text after it may begin
  std::size_t after_star = 0;
  while (in_text < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      after_star = in_text;
    } else if (at < pattern.size() && (pattern[at] == '?' || lower(pattern[at]) == lower(text[in_text]))) {
      ++at;
      ++in_text;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_text = ++after_star;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace fatctx::tools
