// Converts UTF-8, the encoding of the whole project, to the UTF-16 of Windows and back. For the _win32.cc files of this
// folder only.
#pragma once

#include <string>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// Converts to UTF-16. Errors: invalid_argument (not well-formed UTF-8).
[[nodiscard]] Result<std::wstring> wide_text(std::string_view utf8);
// Converts to UTF-8. Text that has no UTF-8 (half a surrogate pair) becomes U+FFFD.
[[nodiscard]] std::string utf8_text(std::wstring_view wide);

// Returns `path` for system calls: absolute, with the prefix that lifts the limit of 260 characters and keeps any part
// of it from naming a device. Relative paths start at the current folder; "/" separates like "\".
// Errors: invalid_argument (empty, a NUL in it, not UTF-8), not_regular_file (the name of a device: CON, NUL, a pipe).
[[nodiscard]] Result<std::wstring> wide_path(std::string_view path);

}  // namespace fatctx::mapping
