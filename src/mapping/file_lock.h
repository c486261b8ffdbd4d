// The lock of an open file, not of the process: closing another descriptor of the file does not give it up. For the
// _posix.cc files of this folder only.
#pragma once

namespace fatctx::mapping {

enum class FileLock { kShared, kExclusive };

// Tries to take the lock for the whole file; it goes with the last descriptor of this open. Returns 0 or errno: EAGAIN
// or EACCES where somebody has it, others where files cannot be locked.
[[nodiscard]] int try_lock(int descriptor, FileLock lock) noexcept;

}  // namespace fatctx::mapping
