// Turns a finished plan into the table of contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "container/write/plan.h"
#include "container/write/toc_rows.h"

namespace fatctx::container {

// Returns the rows that the plan adds to a table of contents. Indexes of segments count the file's existing ones first.
// The generation of segments is not set.
// The storage fields of a record whose bytes the file has as a whole (present_row) are not set.
[[nodiscard]] TocRows rows_of(const Plan& plan, const PackOptions& options);

// Returns the size of the TOC that build_toc() will return; depends on counts and names only.
// Errors: limit_exceeded.
[[nodiscard]] Result<TocSize> toc_size_of(const Plan& plan, const PackOptions& options);

// Builds the TOC. Requires: every hash of the plan is filled in. The uuid in it is zero: it is derived from these
// bytes.
[[nodiscard]] Result<std::vector<std::byte>> build_toc(const Plan& plan, const PackOptions& options,
                                                       std::uint64_t generation);

// Returns the uuid that equal content always gets: XXH3-128 of the TOC with a zero uuid followed by extent and granule
// log2, marked as a version 8 uuid.
[[nodiscard]] DiskUuid derive_uuid(ByteView toc_without_uuid, std::uint8_t extent_log2, std::uint8_t granule_log2);
void put_uuid(std::vector<std::byte>& toc, const DiskUuid& uuid);

}  // namespace fatctx::container
