#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include "tools/system/text_path_win32.h"

namespace fatctx::tools {

std::optional<std::wstring> wide_of_text(std::string_view utf8) {
  if (utf8.empty()) return std::wstring();
  const auto size = static_cast<int>(utf8.size());
  const int wide_size = ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8.data(), size, nullptr, 0);
  if (wide_size <= 0) return std::nullopt;
  std::wstring wide(static_cast<std::size_t>(wide_size), L'\0');
  (void)::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8.data(), size, wide.data(), wide_size);
  return wide;
}

std::string text_of_wide(std::wstring_view wide) {
  if (wide.empty()) return {};
  const auto size = static_cast<int>(wide.size());
  const int utf8_size = ::WideCharToMultiByte(CP_UTF8, 0, wide.data(), size, nullptr, 0, nullptr, nullptr);
  if (utf8_size <= 0) return {};
  std::string text(static_cast<std::size_t>(utf8_size), '\0');
  (void)::WideCharToMultiByte(CP_UTF8, 0, wide.data(), size, text.data(), utf8_size, nullptr, nullptr);
  return text;
}

std::filesystem::path path_of_text(std::string_view utf8) {
  const auto wide = wide_of_text(utf8);
  return wide ? std::filesystem::path(*wide) : std::filesystem::path(L"*");  // no name may have an asterisk
}

std::string text_of_path(const std::filesystem::path& path) { return text_of_wide(path.native()); }

}  // namespace fatctx::tools
