// Finds the bytes that records have in common, and decides how each is stored: whole, in slices, or as a recipe.
#pragma once

#include "container/sharing/byte_plan.h"
#include "container/write/plan.h"
#include "fatctx/packer.h"

namespace fatctx::container {

// A form of which readers can map less must save this part of the bytes.
inline constexpr std::uint64_t kWorthARecipe = 64;

// Stores a record as a search at any offset has found. `order`: its place among the records in the file. Returns the
// recipe, whose sources the caller adds; null if the record needs none.
PlannedRecipe* store_by_runs(PlannedRecord& planned, sharing::ByteRecord& found, std::uint32_t order);

// Plans every record that stores its bytes (`stored_as` is itself). Slices name segments by the index of the storing
// record until the plan places them. Does nothing with Sharing::kOff. Errors: those of reading, limit_exceeded.
[[nodiscard]] Status find_shared_bytes(Plan& plan, const PackOptions& options, WorkProgress& progress);

}  // namespace fatctx::container
