// The seam of repairing: any file, real or in memory. repair() is this over a locked file.
#pragma once

#include <string>

#include "fatctx/repair.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// `path` is what the report and errors call the file. Errors: those of repair() but for what opening and locking gives.
[[nodiscard]] Result<RepairReport> repair_file(mapping::OsFile& file, const std::string& path,
                                               const RepairOptions& options);

}  // namespace fatctx::container
