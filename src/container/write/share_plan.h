// What records have in common, and how each is stored then: whole, in slices, or as a recipe.
#pragma once

#include "container/write/plan.h"
#include "fatctx/packer.h"

namespace fatctx::container {

// For every record that stores its bytes (`stored_as` is itself). Slices name segments by the index of the storing
// record until the plan places them. Does nothing with Sharing::kOff. Errors: those of reading, limit_exceeded.
[[nodiscard]] Status find_shared_bytes(Plan& plan, const PackOptions& options);

}  // namespace fatctx::container
