// A finished plan to the table of contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "container/write/plan.h"
#include "container/write/toc_rows.h"

namespace fatctx::container {

// What the plan adds to a table of contents. Indexes of segments count those that the file has first, and a record
// whose bytes the file has as a whole (present_row) says nothing of how they are stored.
[[nodiscard]] TocRows rows_of(const Plan& plan, const PackOptions& options);

// Size of the TOC that build_toc() will give; depends on counts and names only.
// Errors: limit_exceeded.
[[nodiscard]] Result<std::uint64_t> toc_size_of(const Plan& plan, const PackOptions& options);

// Requires: every hash of the plan is filled in. The uuid in it is zero: it is derived from these bytes.
[[nodiscard]] Result<std::vector<std::byte>> build_toc(const Plan& plan, const PackOptions& options,
                                                       std::uint64_t generation);

// The uuid that equal content always gets: XXH3-128 of the TOC with a zero uuid followed by extent and granule log2,
// marked as a version 8 uuid.
[[nodiscard]] DiskUuid derive_uuid(ByteView toc_without_uuid, const PackOptions& options);
void put_uuid(std::vector<std::byte>& toc, const DiskUuid& uuid);

}  // namespace fatctx::container
