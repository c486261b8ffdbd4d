// UTF-8, the encoding of the whole project, and UTF-16, that of Windows. For the _win32.cc files of this folder only.
#pragma once

#include <string>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// Errors: invalid_argument (not well-formed UTF-8).
[[nodiscard]] Result<std::wstring> wide_text(std::string_view utf8);
// Converts to UTF-8. Text that has no UTF-8 (half a surrogate pair) becomes U+FFFD.
[[nodiscard]] std::string utf8_text(std::wstring_view wide);

// `path` as the system takes it: absolute, and with the prefix that lifts the limit of 260 characters and leaves no
// part of it to be taken for a device. Relative paths count from the current folder; "/" separates as "\" does.
// Errors: invalid_argument (empty, a NUL in it, not UTF-8), not_regular_file (the name of a device: CON, NUL, a pipe).
[[nodiscard]] Result<std::wstring> wide_path(std::string_view path);

}  // namespace fatctx::mapping
