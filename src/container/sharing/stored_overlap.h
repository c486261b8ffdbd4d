// Computes from the table of contents which bytes of the file belong to which records. Does no IO.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/read/parse.h"
#include "fatctx/sharing.h"

namespace fatctx::container::sharing {

// Returns RecordSharing for every record, in their order; leaves the fields that need the payload as they are.
// Cost: for n records of together s slices at most n x s steps, and one step for each slice if nothing is shared.
[[nodiscard]] std::vector<RecordSharing> stored_overlap(const Toc& toc);

// Returns how many bytes of the file belong to any of these records, given by index.
[[nodiscard]] std::uint64_t stored_under(const Toc& toc, std::span<const std::size_t> records);

}  // namespace fatctx::container::sharing
