// Calls that differ between the POSIX systems, or that only one of them has. For the _posix.cc files of this folder
// only.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "mapping/file_identity.h"

namespace fatctx::mapping {

// Excludes the pages from core dumps: weights do not belong there. Does nothing if the system cannot.
void keep_out_of_core_dumps(void* address, std::size_t size) noexcept;

[[nodiscard]] FileTime modified_time(const struct stat& st) noexcept;
[[nodiscard]] FileTime changed_time(const struct stat& st) noexcept;
[[nodiscard]] FileTime accessed_time(const struct stat& st) noexcept;

// The functions below return like system calls: -1 and errno.

// Reserves `size` bytes; the size of the file stays.
[[nodiscard]] int reserve_space(int descriptor, std::uint64_t size) noexcept;
// Writes data and size of the file to the disk, through the disk's own cache.
[[nodiscard]] int sync_to_disk(int descriptor) noexcept;
// Does the same, but may leave out what no later read needs, such as times.
[[nodiscard]] int sync_content_to_disk(int descriptor) noexcept;
// Opens a nameless file in the folder; EOPNOTSUPP if the system has none.
[[nodiscard]] int open_unnamed(int folder, mode_t mode) noexcept;
// Renames. Without `replace`: EEXIST if the name exists; EINVAL or ENOSYS if the system cannot refuse that.
[[nodiscard]] int rename_in(int folder, const char* from, const char* to, bool replace) noexcept;
// Asks the system to drop the range from its cache; it may ignore this.
void forget_cached(int descriptor, off_t offset, off_t size) noexcept;

}  // namespace fatctx::mapping
