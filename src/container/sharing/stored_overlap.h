// Which bytes of the file lie under which records, as the table of contents says. Reads nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/read/parse.h"
#include "fatctx/sharing.h"

namespace fatctx::container::sharing {

// What RecordSharing says of stored bytes, for every record in their order; the fields that need the payload are left
// as they are. Cost: for n records of together s slices at most n x s steps, and one step where nothing is shared.
[[nodiscard]] std::vector<RecordSharing> stored_overlap(const Toc& toc);

// Bytes of the file under any of these records, given by index.
[[nodiscard]] std::uint64_t stored_under(const Toc& toc, std::span<const std::size_t> records);

}  // namespace fatctx::container::sharing
