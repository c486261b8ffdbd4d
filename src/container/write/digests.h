// SHA-256 beside XXH3, on request: of each leaf, and of the bytes that each record's consumer sees.
#pragma once

#include "container/write/plan.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Computes the digests of the plan from the bytes in the file, and writes the SHA-256 leaves to their planned place.
// Does nothing unless the plan asks for digests. Requires: every hash of the plan is that of the bytes in the file.
// Errors: those of reading and writing; cancelled.
[[nodiscard]] Status add_digests(Plan& plan, mapping::OsFile& file, const PackOptions& options, WorkProgress& progress);

}  // namespace fatctx::container
