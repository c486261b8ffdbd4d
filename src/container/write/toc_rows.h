// The table of contents as rows that can be changed; every writer starts from it or ends with it. The rows hold their
// strings. The names region, the order of tables, indexes, the directory and page hashes are made with the bytes.
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

struct SegmentRow : Row<SegmentEntry> {
  SegmentRow() = default;
  SegmentRow(const Row<SegmentEntry>& row) : Row(row) {}  // NOLINT(google-explicit-constructor): without a digest
  SegmentRow(const SegmentEntry& entry) : Row(entry) {}   // NOLINT(google-explicit-constructor)
  // Its SHA-256 leaves; `leaves_sha256` is zero if it has none.
  Row<SegmentDigest> digest = SegmentDigest{{}, le32(kNoSegment), {}, {}};

  [[nodiscard]] bool has_sha256() const noexcept { return digest.leaves_sha256 != DiskSha256{}; }
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
  Row<RecordEntry> entry;  // without name, key, first_slice, slice_count and link
  Row<RecordDigest> digest;
  std::string name;
  std::vector<Row<SliceEntry>> slices;
  std::optional<KeyRow> key;
};

struct TocRows {
  DiskUuid uuid = {};
  std::uint64_t generation = 1;
  bool sha256 = false;                            // whether the digests are written, and SHA-256 of the pages
  std::vector<SegmentRow> segments;               // ascending by offset
  std::vector<RecordRow> records;                 // ascending by id
  std::vector<Row<ReferenceEntry>> references;    // in any order
  std::vector<Row<GenerationEntry>> generations;  // ascending
  // Bytes of the rows of each table. Shorter tails are filled with zeros.
  std::array<std::uint64_t, kTableCount> row_sizes = std::to_array(kTableEntrySizes);
};

// Returns the rows of a table that parse_toc() has accepted.
[[nodiscard]] TocRows rows_of(const Toc& toc);

struct TocSize {
  std::uint64_t head = 0;
  std::uint64_t all = 0;
};
// Returns the size of the table's bytes. Errors: limit_exceeded.
[[nodiscard]] Result<TocSize> toc_size_of(const TocRows& rows);
// Returns the bytes, of the size that toc_size_of() returns. Errors: limit_exceeded.
[[nodiscard]] Result<std::vector<std::byte>> toc_bytes(const TocRows& rows);
// Returns the head of a table that toc_bytes() returned: a slot has its hashes.
[[nodiscard]] ByteView head_of(ByteView toc);

}  // namespace fatctx::container
