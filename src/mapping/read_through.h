// Reads to fill the cache and to learn of errors: replaces page_advice.h on systems that cannot bring pages in and
// report the result. For the files of this folder only.
#pragma once

#include <cstdint>

#include "mapping/os_file.h"

namespace fatctx::mapping {

// Returns why the page that holds byte `offset` of `file` could not be brought in. Reads it, because a read, unlike a
// fault, tells if the file ends there or the disk fails. Uses `error_number` if the read succeeds. The values 0 and
// EFAULT mean only that there was a fault: then the file has changed, kChanged.
[[nodiscard]] Error bad_page_error(const OsFile& file, std::uint64_t offset, int error_number);

// Reads `range` and discards it, so that it is in the system's cache. Errors: those of populate().
[[nodiscard]] Status read_through(const OsFile& file, ByteRange range);

}  // namespace fatctx::mapping
