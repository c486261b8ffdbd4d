// The rules of sharing, applied to what is packed.
#pragma once

#include <vector>

#include "container/sharing/sharing_rules.h"
#include "container/write/plan.h"

namespace fatctx::container {

// Errors: unsupported, if a record was compiled with what excludes each other. For new records only: those that a file
// has stay as they are.
[[nodiscard]] Status check_compatible(const std::vector<PackRecord>& records);

// Says of each record of the plan, and of each of `present`, whether it is alone, and keeps the warnings for
// warn_of_sharing(). `present`: what the file has that is appended to, in the order of its table.
// Errors: unsupported, if something is warned of and options.strict_sharing is set.
[[nodiscard]] Status settle_sharing(Plan& plan, std::vector<SharingCandidate> present, const PackOptions& options);

// Adds the warnings to those of the plan. Requires: every record has its bytes.
void warn_of_sharing(Plan& plan);

}  // namespace fatctx::container
