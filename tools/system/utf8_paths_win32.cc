// Makes std::filesystem::path read text as UTF-8.
//
// libstdc++ converts text to a path with mbrtowc(), and the C library of MinGW-w64 knows no UTF-8. So the linker sends
// those calls here (--wrap=mbrtowc, tools/CMakeLists.txt). Otherwise each of the many places that make a path of text
// would need a conversion that no other system needs.
#include <cstddef>
#include <cwchar>

namespace {

constexpr unsigned kContinuation = 0x80;
constexpr unsigned kPayload = 0x3F;
constexpr std::size_t kIllegal = static_cast<std::size_t>(-1);
constexpr std::size_t kIncomplete = static_cast<std::size_t>(-2);

// Returns the length of a character by its first byte; 0 if none begins so.
std::size_t length_of(unsigned char first) noexcept {
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  return first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
}

// Smaller numbers have a shorter form, which alone is right.
bool is_shortest(char32_t code_point, std::size_t length) noexcept {
  return length < 3 || code_point >= (length == 3 ? 0x800U : 0x10000U);
}

}  // namespace

extern "C" std::size_t __wrap_mbrtowc(wchar_t* out, const char* text, std::size_t size, std::mbstate_t* state) {
  static thread_local std::mbstate_t own = {};
  if (state == nullptr) state = &own;
  wchar_t ignored = 0;
  if (out == nullptr) out = &ignored;
  if (text == nullptr) return 0;
  if (size == 0) return kIncomplete;
  // A character outside the first plane is two units here. The first call takes three of its four bytes.
  if (*state != 0) {
    *out = static_cast<wchar_t>(*state);
    *state = 0;
    return 1;
  }
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const std::size_t length = length_of(byte(0));
  if (length == 0) return kIllegal;
  if (size < length) return kIncomplete;
  char32_t code_point = length == 1 ? byte(0) : byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & ~kPayload) != kContinuation) return kIllegal;
    code_point = (code_point << 6U) | (byte(i) & kPayload);
  }
  const bool half = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (half || code_point > 0x10FFFF || !is_shortest(code_point, length)) return kIllegal;
  if (code_point < 0x10000) {
    *out = static_cast<wchar_t>(code_point);
    return code_point == 0 ? 0 : length;
  }
  const char32_t rest = code_point - 0x10000;
  *out = static_cast<wchar_t>(0xD800 + (rest >> 10U));
  *state = static_cast<std::mbstate_t>(0xDC00 + (rest & 0x3FFU));
  return length - 1;
}
