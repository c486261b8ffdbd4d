// The rows of a table of contents that parse_toc() has accepted, in their stored form.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "container/format/copy_out.h"
#include "container/format/disk_format.h"
#include "container/read/parse.h"

namespace fatctx::container {

// A view of the rows. Lifetime: borrows from the table.
class StoredRows {
 public:
  explicit StoredRows(const Toc& toc) : bytes_(toc.bytes) {
    for (std::uint32_t i = 0; i < kTableCount; ++i) {
      directory_[i] = copy_out<DirectoryEntry>(bytes_, sizeof(TocHeader) + i * sizeof(DirectoryEntry)).value();
    }
  }
  [[nodiscard]] std::uint64_t count(Table table) const { return directory(table).count; }
  // Returns the bytes of each row: those of its struct, and what a newer version added.
  [[nodiscard]] std::uint64_t row_size(Table table) const { return directory(table).entry_size; }
  template <typename T>
  [[nodiscard]] T row(Table table, std::uint64_t index) const {
    return copy_out<T>(bytes_, directory(table).offset + index * row_size(table)).value();
  }
  // Returns what a newer version added to a row.
  template <typename T>
  [[nodiscard]] ByteView tail(Table table, std::uint64_t index) const {
    const std::uint64_t end = directory(table).offset + (index + 1) * row_size(table);
    return slice(bytes_, {end - (row_size(table) - sizeof(T)), row_size(table) - sizeof(T)}).value();
  }
  [[nodiscard]] SegmentEntry segment(std::uint64_t index) const { return row<SegmentEntry>(Table::kSegments, index); }
  [[nodiscard]] RecordEntry record(std::uint64_t index) const { return row<RecordEntry>(Table::kRecords, index); }
  // Returns whether there are digests, of all records and all segments.
  [[nodiscard]] bool has_digests() const { return count(Table::kSegmentDigests) == count(Table::kSegments); }
  // Returns the SHA-256 of a segment. Its `leaves_sha256` is zero if there is none.
  [[nodiscard]] SegmentDigest segment_digest(std::uint64_t index) const {
    return has_digests() ? row<SegmentDigest>(Table::kSegmentDigests, index) : kNoDigest;
  }
  // Returns the SHA-256 of a record's bytes; zero if there is none.
  [[nodiscard]] DiskSha256 record_sha256(std::uint64_t index) const {
    return has_digests() ? row<RecordDigest>(Table::kRecordDigests, index).logical_sha256 : DiskSha256{};
  }
  [[nodiscard]] std::string name(std::uint32_t offset) const {
    const std::uint64_t at = directory(Table::kNames).offset + offset;
    const le16 size = copy_out<le16>(bytes_, at).value();
    const ByteView text = slice(bytes_, {at + sizeof(le16), size}).value();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

 private:
  static constexpr SegmentDigest kNoDigest = {{}, le32(kNoSegment), {}, {}};
  [[nodiscard]] const DirectoryEntry& directory(Table table) const {
    return directory_[static_cast<std::size_t>(table)];
  }
  ByteView bytes_;
  std::array<DirectoryEntry, kTableCount> directory_ = {};
};

}  // namespace fatctx::container
