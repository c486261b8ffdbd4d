// Applies the rules of sharing to a plan.
#pragma once

#include <vector>

#include "container/sharing/sharing_rules.h"
#include "container/write/plan.h"

namespace fatctx::container {

// Checks new records only: those that a file already has stay as they are.
// Errors: unsupported, if the options with which a record was compiled exclude each other.
[[nodiscard]] Status check_compatible(const std::vector<PackRecord>& records);

// Decides for each record of the plan, and for each of `present`, whether it is alone. Keeps the warnings for
// warn_of_sharing(). `present`: the records of the file that is appended to, in the order of its table.
// Errors: unsupported, if there is a warning and options.strict_sharing is set.
[[nodiscard]] Status settle_sharing(Plan& plan, std::vector<SharingCandidate> present, const PackOptions& options);

// Adds the warnings to those of the plan. Requires: every record has its bytes.
void warn_of_sharing(Plan& plan);

}  // namespace fatctx::container
