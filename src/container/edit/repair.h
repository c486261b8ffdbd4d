// Repairs any file, real or in memory. repair() calls this with a locked file.
#pragma once

#include <string>

#include "fatctx/repair.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Repairs `file`; the report and errors call it `path`. Errors: those of repair() except for those of opening and
// locking.
[[nodiscard]] Result<RepairReport> repair_file(mapping::OsFile& file, const std::string& path,
                                               const RepairOptions& options);

}  // namespace fatctx::container
