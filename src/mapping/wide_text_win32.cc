#include "mapping/wide_text.h"

#include <limits>

#include "mapping/os_error.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

constexpr std::wstring_view kPrefix = L"\\\\?\\";
constexpr std::wstring_view kShare = L"\\\\";  // \\server\share
constexpr std::wstring_view kSharePrefix = L"\\\\?\\UNC\\";
constexpr std::wstring_view kDevice = L"\\\\.\\";  // result of GetFullPathName for CON and other devices

Error system_error(std::string_view what) { return os_error(static_cast<int>(::GetLastError()), what); }

// Resolves against the current folder; also resolves "." and ".." and replaces "/".
Result<std::wstring> full_path(const std::wstring& path) {
  std::wstring full(MAX_PATH, L'\0');
  for (;;) {
    const DWORD size = ::GetFullPathNameW(path.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr);
    if (size == 0) return system_error("cannot resolve the path");
    const bool fits = size < full.size();
    full.resize(size);  // without the terminator if it fitted, with it if not
    if (fits) return full;
  }
}

}  // namespace

Result<std::wstring> wide_text(std::string_view utf8) {
  if (utf8.empty()) return std::wstring();
  if (utf8.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Error{ErrorCode::kInvalidArgument, "a text of more than 2 GiB"};
  }
  const auto size = static_cast<int>(utf8.size());
  const int wide_size = ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8.data(), size, nullptr, 0);
  if (wide_size <= 0) return Error{ErrorCode::kInvalidArgument, "not well-formed UTF-8"};
  std::wstring wide(static_cast<std::size_t>(wide_size), L'\0');
  if (::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8.data(), size, wide.data(), wide_size) != wide_size) {
    return system_error("cannot convert to UTF-16");
  }
  return wide;
}

std::string utf8_text(std::wstring_view wide) {
  if (wide.empty() || wide.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return {};
  const auto size = static_cast<int>(wide.size());
  const int utf8_size = ::WideCharToMultiByte(CP_UTF8, 0, wide.data(), size, nullptr, 0, nullptr, nullptr);
  if (utf8_size <= 0) return {};
  std::string text(static_cast<std::size_t>(utf8_size), '\0');
  (void)::WideCharToMultiByte(CP_UTF8, 0, wide.data(), size, text.data(), utf8_size, nullptr, nullptr);
  return text;
}

Result<std::wstring> wide_path(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) {
    return Error{ErrorCode::kInvalidArgument, "a path must not contain a NUL character"};
  }
  if (path.empty()) return Error{ErrorCode::kInvalidArgument, "the path is empty"};
  auto converted = wide_text(path);
  if (!converted.ok()) return Error{ErrorCode::kInvalidArgument, "the path is not well-formed UTF-8"};
  const std::wstring& wide = converted.value();
  if (wide.starts_with(kPrefix)) return std::move(converted).value();  // the caller has added the prefix
  FATCTX_ASSIGN(const std::wstring full, full_path(wide));
  if (full.starts_with(kDevice)) {
    return Error{ErrorCode::kNotRegularFile, "the name of a device or pipe; not a regular file"};
  }
  if (full.starts_with(kPrefix)) return full;
  if (full.starts_with(kShare)) return std::wstring(kSharePrefix) + full.substr(kShare.size());
  return std::wstring(kPrefix) + full;
}

}  // namespace fatctx::mapping
