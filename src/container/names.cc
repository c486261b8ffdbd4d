#include "container/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace fatctx::container {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t size = 0;  // bytes
};

// The code point that starts at `at`, or nothing if the bytes there are not well-formed (Unicode 15, table 3-7).
// Requires: at < text.size().
std::optional<CodePoint> decode(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(at);
  if (lead < 0x80) return CodePoint{lead, 1};

  std::size_t size = 0;
  std::uint32_t value = 0;
  std::uint32_t smallest = 0;  // below it the form would be overlong
  if (lead >= 0xc2 && lead <= 0xdf) {
    size = 2, value = lead & 0x1f, smallest = 0x80;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    size = 3, value = lead & 0x0f, smallest = 0x800;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    size = 4, value = lead & 0x07, smallest = 0x10000;
  } else {
    return std::nullopt;
  }
  if (text.size() - at < size) return std::nullopt;
  for (std::size_t i = 1; i < size; ++i) {
    const std::uint32_t next = byte(at + i);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    value = (value << 6) | (next & 0x3f);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < smallest || surrogate || value > 0x10ffff) return std::nullopt;
  return CodePoint{value, size};
}

bool is_control(std::uint32_t value) noexcept { return value < 0x20 || (value >= 0x7f && value <= 0x9f); }

Error bad_name(std::string message) { return Error{ErrorCode::kMalformed, std::move(message), {.rule = "F29"}}; }

}  // namespace

bool is_valid_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto point = decode(text, at);
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
  if (plain) return Done{};  // nearly every name; what follows takes several times as long
  for (std::size_t at = 0; at < name.size();) {
    const auto point = decode(name, at);
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
