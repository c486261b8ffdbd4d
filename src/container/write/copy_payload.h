// Copies payload from the inputs to its place in the file and hashes it.
#pragma once

#include "container/write/plan.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Writes every segment of the plan and fills in the hashes of records and leaves. Writes a segment from front to back
// in calls of 4 MiB; only the last call of a segment is shorter. The system then caches the file in large pages, which
// makes the first touch of a mapping many times cheaper.
// Errors: those of reading the inputs and of writing, changed (an input is not as it was planned).
[[nodiscard]] Status copy_payload(Plan& plan, mapping::OsFile& file, WorkProgress& progress);

}  // namespace fatctx::container
