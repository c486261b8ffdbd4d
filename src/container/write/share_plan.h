// Finds the bytes that records have in common, and decides how each is stored: whole, in slices, or as a recipe.
#pragma once

#include "container/write/plan.h"
#include "fatctx/packer.h"

namespace fatctx::container {

// Plans every record that stores its bytes (`stored_as` is itself). Slices name segments by the index of the storing
// record until the plan places them. Does nothing with Sharing::kOff. Errors: those of reading, limit_exceeded.
[[nodiscard]] Status find_shared_bytes(Plan& plan, const PackOptions& options, WorkProgress& progress);

}  // namespace fatctx::container
