// Removes names of files. For the _win32.cc files of this folder only.
#pragma once

#include <string>

namespace fatctx::mapping {

// Removes the name of the file behind the handle, which must have the right DELETE. If the system can (Windows 10 1809,
// NTFS), the name is free at once, and open handles and maps stay valid. Returns 0 or the error of the system.
[[nodiscard]] int unlink_handle(void* handle) noexcept;
// Does it for the file at `path`, also for one that is read-only; follows no link. Returns 0 or the error of the
// system.
[[nodiscard]] int unlink_file(const std::wstring& path) noexcept;

}  // namespace fatctx::mapping
