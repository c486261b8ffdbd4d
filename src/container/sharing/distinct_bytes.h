// Counts how many bytes of records differ from each other, by hash: for reports, never to decide how bytes are stored.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "container/sharing/content_scan.h"
#include "container/sharing/layout_groups.h"

namespace fatctx::container::sharing {

inline constexpr unsigned kSmallestPageLog2 = 12;  // the granule of the scans that are counted

// Counts distinct pages of 2^`page_log2` bytes, at least kSmallestPageLog2; of a record's last page, only its own
// bytes.
[[nodiscard]] std::uint64_t distinct_page_bytes(std::span<const GroupInput> records, unsigned page_log2);

// Counts the bytes of distinct content-defined chunks.
[[nodiscard]] std::uint64_t distinct_chunk_bytes(std::span<const ContentScan* const> records);

}  // namespace fatctx::container::sharing
