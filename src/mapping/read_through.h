// Reads for the sake of the cache and of errors: the substitute for page_advice.h on systems that cannot bring pages in
// and report the result. For the files of this folder only.
#pragma once

#include <cstdint>

#include "mapping/os_file.h"

namespace fatctx::mapping {

// Why the page that holds byte `offset` of `file` did not come in: a read knows what a fault does not say, whether the
// file ends there or the disk fails. `error_number` is for the case that the read goes well. 0 and
// EFAULT say only that there was a fault: then the file is not what it was, kChanged.
[[nodiscard]] Error bad_page_error(const OsFile& file, std::uint64_t offset, int error_number);

// Reads `range` and throws it away, so that it is in the system's cache. Errors: those of populate().
[[nodiscard]] Status read_through(const OsFile& file, ByteRange range);

}  // namespace fatctx::mapping
