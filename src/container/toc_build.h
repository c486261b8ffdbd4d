// A finished plan to the bytes of header and table of contents.
#pragma once

#include <cstddef>
#include <vector>

#include "container/plan.h"

namespace fatctx::container {

// Size of the TOC that build_toc() will give; depends on counts and names only.
// Errors: limit_exceeded.
[[nodiscard]] Result<std::uint64_t> toc_size_of(const Plan& plan, const PackOptions& options);

// Requires: every hash of the plan is filled in. The uuid in it is zero: it is derived from these bytes.
[[nodiscard]] Result<std::vector<std::byte>> build_toc(const Plan& plan, const PackOptions& options);

// The uuid that equal content always gets: XXH3-128 of the TOC with a zero uuid followed by extent and granule log2,
// marked as a version 8 uuid.
[[nodiscard]] DiskUuid derive_uuid(ByteView toc_without_uuid, const PackOptions& options);
void put_uuid(std::vector<std::byte>& toc, const DiskUuid& uuid);

// The 64 KiB header of a file in its first generation: both prologues, pair A live, pair B VOID.
[[nodiscard]] std::vector<std::byte> build_header(const Plan& plan, ByteView toc, const DiskUuid& uuid,
                                                  const PackOptions& options);

}  // namespace fatctx::container
