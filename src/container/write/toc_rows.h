// The table of contents as rows that can be changed; every writer starts from it or ends with it. The rows hold their
// strings. The names region, the order of tables, first slices and the directory are made with the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "container/format/disk_format.h"
#include "container/read/parse.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

// A row with what a newer version added to it, which nobody here understands. A row of this version has no tail.
template <typename Entry>
struct Row : Entry {
  Row() : Entry{} {}
  Row(const Entry& entry) : Entry(entry) {}  // NOLINT(google-explicit-constructor): a new row is one without a tail
  std::vector<std::byte> tail;
};

// A key without its record; the string fields of `entry` are not set.
struct KeyRow {
  Row<KeyEntry> entry;
  std::string group;
  std::string unit;
  std::string backend;
  std::string part;
  std::string arch;
  std::string features;
  std::string variant;
};

struct RecordRow {
  Row<RecordEntry> entry;  // without name, first_slice and slice_count
  std::string name;
  std::vector<Row<SliceEntry>> slices;
  std::optional<KeyRow> key;
};

struct TocRows {
  DiskUuid uuid = {};
  std::uint64_t generation = 1;
  std::vector<Row<SegmentEntry>> segments;        // ascending by offset
  std::vector<RecordRow> records;                 // ascending by id
  std::vector<Row<ReferenceEntry>> references;    // in any order
  std::vector<Row<GenerationEntry>> generations;  // ascending
  // Bytes of the rows of each table. Shorter tails are filled with zeros.
  std::array<std::uint64_t, kTableCount> row_sizes = std::to_array(kTableEntrySizes);
};

// Returns the rows of a table that parse_toc() has accepted.
[[nodiscard]] TocRows rows_of(const Toc& toc);

// Returns the size of the table's bytes. Errors: limit_exceeded.
[[nodiscard]] Result<std::uint64_t> toc_size_of(const TocRows& rows);
// Returns the bytes, of the size that toc_size_of() returns. Errors: limit_exceeded.
[[nodiscard]] Result<std::vector<std::byte>> toc_bytes(const TocRows& rows);

}  // namespace fatctx::container
