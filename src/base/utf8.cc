#include "base/utf8.h"

namespace fatctx {

std::optional<CodePoint> decode_utf8(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(at);
  if (lead < 0x80) return CodePoint{lead, 1};

  std::size_t size = 0;
  std::uint32_t value = 0;
  std::uint32_t smallest = 0;  // a smaller value would be an overlong form
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

std::size_t whole_characters(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text.size();
  std::size_t kept = most;
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xc0) == 0x80) --kept;
  return kept;
}

void append_utf8(std::string& text, std::uint32_t value) {
  const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80 | ((value >> shift) & 0x3f)); };
  if (value < 0x80) {
    text += static_cast<char>(value);
  } else if (value < 0x800) {
    text += static_cast<char>(0xc0 | (value >> 6));
    tail(0);
  } else if (value < 0x10000) {
    text += static_cast<char>(0xe0 | (value >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | (value >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace fatctx
