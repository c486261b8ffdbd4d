// The lock of an open file, not of the process: closing another descriptor of the file does not release it. For the
// _posix.cc files of this folder only.
#pragma once

namespace fatctx::mapping {

enum class FileLock { kShared, kExclusive };

// Tries to lock the whole file; the lock ends with the last descriptor of this open. Returns 0 or errno: EAGAIN or
// EACCES if another open holds it, others if files cannot be locked.
[[nodiscard]] int try_lock(int descriptor, FileLock lock) noexcept;

}  // namespace fatctx::mapping
