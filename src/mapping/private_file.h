// Checks files that hold a secret: only their owner may have access.
#pragma once

#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

// Errors: operation_not_permitted (group or others may read or write it; the message names the remedy), io.
[[nodiscard]] Status check_private(const OsFile& file);

}  // namespace fatctx::mapping
