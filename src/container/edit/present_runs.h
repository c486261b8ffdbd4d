// Looks for bytes of new records at any offset of the file that they are appended to.
#pragma once

#include "container/read/parse.h"
#include "container/write/append_runs.h"
#include "container/write/plan.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Reads all payload of the file. Nothing is copied from a segment that is damaged or cannot be read.
//
// `left_out`: as for find_present_bytes(), which comes first. Errors: those of reading the inputs; cancelled.
[[nodiscard]] Status find_present_runs(Plan& plan, const mapping::OsFile& file, const Toc& toc,
                                       const std::vector<bool>& left_out, const PackOptions& options,
                                       WorkProgress& progress);

}  // namespace fatctx::container
