// Files that hold a secret: only their owner can read them.
#pragma once

#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

// Errors: operation_not_permitted (group or others may read or write it; the message says what to do), io.
[[nodiscard]] Status check_private(const OsFile& file);

}  // namespace fatctx::mapping
