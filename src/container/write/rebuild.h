// Verifies before a commit that the written file yields every record.
#pragma once

#include "container/write/plan.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Rebuilds each record of the plan that shares bytes, from its slices in `file` or by its recipe. Compares it with its
// input byte by byte and fills in its hash. Requires: copy_payload() has run. Errors: changed (an input is not as it
// was planned), internal, those of reading. `threads`: 0 for one for each processor, as in PackOptions.
[[nodiscard]] Status check_rebuilt(Plan& plan, const mapping::OsFile& file, unsigned threads, WorkProgress& progress);

}  // namespace fatctx::container
