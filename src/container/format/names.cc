#include "container/format/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/utf8.h"

namespace fatctx::container {
namespace {

bool is_control(std::uint32_t value) noexcept { return value < 0x20 || (value >= 0x7f && value <= 0x9f); }

Error bad_name(std::string message) { return Error{ErrorCode::kMalformed, std::move(message), {.rule = "F29"}}; }

}  // namespace

bool is_valid_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto point = decode_utf8(text, at);
    if (!point) return false;
    at += point->size;
  }
  return true;
}

Status check_name(std::string_view name, std::size_t max_bytes, bool allow_slash, std::string_view what) {
  if (name.empty()) return bad_name(fmt::format("{} is empty; at least one character is needed", what));
  if (name.size() > max_bytes) {
    return bad_name(fmt::format("{} has {} bytes; at most {} are allowed", what, name.size(), max_bytes));
  }
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c < 0x7f && c != '/'; });
  if (plain) return Done{};  // nearly every name; the rest takes several times as long
  for (std::size_t at = 0; at < name.size();) {
    const auto point = decode_utf8(name, at);
    if (!point) {
      return bad_name(fmt::format("{} is not well-formed UTF-8: byte {} is 0x{:02x}", what, at,
                                  static_cast<unsigned>(static_cast<unsigned char>(name[at]))));
    }
    if (is_control(point->value)) {
      return bad_name(fmt::format("{} holds the control character U+{:04X} at byte {}", what, point->value, at));
    }
    if (point->value == '/' && !allow_slash) {
      return bad_name(fmt::format("{} \"{}\" holds \"/\", which only tensor and graph names may", what,
                                  is_valid_utf8(name) ? name : std::string_view("...")));
    }
    at += point->size;
  }
  return Done{};
}

}  // namespace fatctx::container
