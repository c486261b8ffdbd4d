// How many bytes of records are different from each other, counted by hash: for reports, never for what is stored.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "container/sharing/content_scan.h"
#include "container/sharing/layout_groups.h"

namespace fatctx::container::sharing {

inline constexpr unsigned kSmallestPageLog2 = 12;  // the granule of the scans that this is about

// Pages of 2^`page_log2` bytes, at least kSmallestPageLog2; the end of a record counts with its own bytes only.
[[nodiscard]] std::uint64_t distinct_page_bytes(std::span<const GroupInput> records, unsigned page_log2);

// Content-defined chunks.
[[nodiscard]] std::uint64_t distinct_chunk_bytes(std::span<const ContentScan* const> records);

}  // namespace fatctx::container::sharing
