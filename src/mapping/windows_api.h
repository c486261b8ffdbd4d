// Includes windows.h without its side effects on the rest of a file, with the words that many of these files need. For
// the _win32.cc files of this folder only.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include "mapping/os_error.h"

namespace fatctx::mapping {

// Other processes may read, write, rename and remove the file meanwhile, as on every other system.
inline constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

[[nodiscard]] inline int last_error() noexcept { return static_cast<int>(::GetLastError()); }
[[nodiscard]] inline Error last_os_error(std::string_view what) { return os_error(last_error(), what); }

}  // namespace fatctx::mapping
