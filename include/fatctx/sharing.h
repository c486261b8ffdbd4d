// Measures sharing in a container: the bytes that are stored once, and those that could be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/container.h"

namespace fatctx {

inline constexpr std::size_t kMaxListedSharers = 16;

struct SharedBytes {
  std::uint32_t record_id = 0;
  std::uint64_t bytes = 0;  // of the file, under both records
};

// own + shared + repeated are the stored bytes of the record.
struct RecordSharing {
  std::uint32_t record_id = 0;
  std::uint64_t size_bytes = 0;               // logical
  std::uint64_t own_bytes = 0;                // of the file, under this record only
  std::uint64_t shared_bytes = 0;             // of the file, under other records too
  std::uint64_t repeated_bytes = 0;           // taken again from a place where the record already takes them
  std::vector<SharedBytes> shared_with;       // most bytes first, then by id; at most kMaxListedSharers
  std::uint32_t sharer_count = 0;             // all that share bytes with it
  std::uint32_t pieces = 0;                   // slices of the file
  std::uint64_t composed_bytes = 0;           // built here for a view of a recipe, in whole pages; else 0
  std::optional<std::uint32_t> layout_group;  // index in SharingReport::layout_groups; none: nothing looked at it
};

// A group of records that consist of the same bytes, at any offset.
struct SharingLayoutGroup {
  std::vector<std::uint32_t> records;  // the base first, then in the order in which pages are looked for; equal ones
                                       // behind each other
  std::uint64_t size_bytes = 0;        // logical, of all of them
  std::uint64_t stored_bytes = 0;      // of the file, under any of them
  std::uint64_t distinct_bytes = 0;    // in content-defined chunks, each counted once
};

struct PageTotal {
  std::uint32_t page_bytes = 0;
  std::uint64_t bytes = 0;  // with each different page of the records stored once: no sharing by pages can be smaller
};

// Payload bytes, without padding, header and tables.
struct SharingTotals {
  std::uint64_t input_bytes = 0;   // all records, each by itself
  std::uint64_t off_bytes = 0;     // equal records once
  std::uint64_t stored_bytes = 0;  // in this file
  std::array<PageTotal, 3> pages = {{{4096, 0}, {16384, 0}, {65536, 0}}};
  // With each different content-defined chunk stored once: an estimate from above of sharing at any byte offset,
  // without the programs of the recipes.
  std::uint64_t bytes_at_most = 0;
};

// The bytes for one chip: binaries of one target in every group and unit, the weight blobs they refer to, and their
// tensor tables, each content once and whole.
struct TargetSharing {
  std::string target;                  // as target_text()
  std::vector<std::uint32_t> records;  // ascending
  std::uint64_t alone_bytes = 0;
};

struct SharingReport {
  std::vector<RecordSharing> records;             // of the container, in its order
  std::vector<SharingLayoutGroup> layout_groups;  // most logical bytes first
  SharingTotals totals;
  std::vector<TargetSharing> targets;  // in the order of their first records
};

// Measures the sharing of a container. Reads and verifies every record whose pages could be shared: uncompressed, in a
// segment of its own. The others count as they are stored. Layout groups, pages and chunks are found by hash alone,
// because nothing is stored by them. Takes about 30 bytes of memory for each 4 KiB.
// Errors: checksum_mismatch, malformed (F35), changed, truncated, io, limit_exceeded (records that together are more
//         than 64 times as large as their file).
[[nodiscard]] Result<SharingReport> measure_sharing(const Container& container, const Progress& progress = {});

}  // namespace fatctx
