// Maps the bytes of a record to ranges of the file.
#pragma once

#include <cstdint>
#include <vector>

#include "container/read/parse.h"

namespace fatctx::container {

// A run of a record's stored bytes that is one range of the file.
struct Piece {
  std::uint64_t offset_in_record = 0;
  ByteRange in_file;
};

// Returns the slices in the order of the record's bytes. Slices that are adjacent in the record and in the file become
// one piece. Returns nothing for a recipe, whose slices are not its bytes.
[[nodiscard]] std::vector<Piece> pieces_of(const Toc& toc, const RecordInfo& record);

// Returns the slices themselves, in their order. Each is inside one segment.
[[nodiscard]] std::vector<ByteRange> slices_in_file(const Toc& toc, const RecordInfo& record);

// Returns the file offset of a stored byte; of a recipe, that of the first byte of its program. An offset behind the
// record counts on from its last byte.
[[nodiscard]] std::uint64_t place_in_file(const Toc& toc, const RecordInfo& record, std::uint64_t offset_in_record);

// Returns the range from the end of a record of several slices to the end of its last granule. A view shows these bytes
// as zeros if whole pages are mapped. Empty for other records. May end behind the container.
[[nodiscard]] ByteRange behind_last_granule(const Toc& toc, const RecordInfo& record, std::uint8_t granule_log2);

// Finds the segment of a byte of the file.
class SegmentFinder {
 public:
  // For every payload segment. Requires: the table is whole. Lifetime: borrows it.
  explicit SegmentFinder(const Toc& toc) : toc_(toc), all_(true) {}
  // For the segments of one record.
  SegmentFinder(const Toc& toc, const RecordInfo& record);

  // Returns the last segment that begins at `file_offset` or before. Requires: there is one.
  [[nodiscard]] std::uint32_t at(std::uint64_t file_offset) const noexcept;

 private:
  const Toc& toc_;
  bool all_ = false;
  std::vector<std::uint32_t> segments_;  // ascending, as are their offsets
};

}  // namespace fatctx::container
