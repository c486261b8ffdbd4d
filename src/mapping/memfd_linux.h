// The common code of sealed files and sealed memory on Linux. For the files of this folder only.
#pragma once

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// A file in memory of our own that can be sealed, or -1 and errno.
[[nodiscard]] int make_memory_file() noexcept;

// The same file behind the same number, by a descriptor that cannot write: before Linux 6.7 sealed memory gives no
// shared map, not even one to read, through a descriptor that could. Errors: those of open (/proc is needed).
[[nodiscard]] Status make_read_only(int descriptor);

}  // namespace fatctx::mapping
