// Calls that differ between the POSIX systems, or that only one of them has. For the _posix.cc files of this folder
// only.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "mapping/file_identity.h"

namespace fatctx::mapping {

// Weights do not belong into core dumps. A system without the advice keeps working.
void keep_out_of_core_dumps(void* address, std::size_t size) noexcept;

[[nodiscard]] FileTime modified_time(const struct stat& st) noexcept;
[[nodiscard]] FileTime changed_time(const struct stat& st) noexcept;
[[nodiscard]] FileTime accessed_time(const struct stat& st) noexcept;

// The following answer as system calls do: -1 and errno.

// Room for `size` bytes; the size of the file stays.
[[nodiscard]] int reserve_space(int descriptor, std::uint64_t size) noexcept;
// Data and size of the file are on the disk, its cache included.
[[nodiscard]] int sync_to_disk(int descriptor) noexcept;
// A file without a name in the folder; EOPNOTSUPP where there is no such thing.
[[nodiscard]] int open_unnamed(int folder, mode_t mode) noexcept;
// Without `replace`: EEXIST if there is a file, EINVAL or ENOSYS where that cannot be asked for.
[[nodiscard]] int rename_in(int folder, const char* from, const char* to, bool replace) noexcept;
// A request that may be turned down.
void forget_cached(int descriptor, off_t offset, off_t size) noexcept;

}  // namespace fatctx::mapping
