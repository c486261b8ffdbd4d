// Finds equal runs of granules ("pages") in records, so that each is stored once and every record can still be mapped
// without a copy. Decides this for new files, for appends and for rewrites; nothing else does.
//
// A hash finds candidates; the bytes are compared before a match counts. The content decides the order of work: the
// order of the given records and repeated records change nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/sharing/content_scan.h"
#include "container/sharing/layout_groups.h"
#include "container/sharing/record_bytes.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::container::sharing {

struct PageInput {
  const RecordBytes* bytes = nullptr;  // not empty; no two are equal
  std::uint32_t slice_rows = 1;        // how many records of the file have these bytes, so that each repeats the slices
};

struct PageSettings {
  unsigned granule_log2 = 12;
  std::uint64_t min_run_bytes = 32768;    // eight 4 KiB pages: a shorter run is worth neither a piece nor its faults
  std::uint64_t min_saving_divisor = 64;  // a record stays whole if the saving is below its size divided by this
  std::uint32_t max_pieces = 4096;        // a record that needs more stores its shortest runs again; at least 1
  std::uint64_t max_slices = 65536;       // of all records together; at least one for each
  bool explain = false;                   // computes `reordered_bytes`, which takes another pass over the records
  unsigned threads = 1;                   // at least 1; changes nothing but the time
  GranuleHash hash = granule_hash;        // tests cause collisions here
};

// A range of a stored segment. The last piece of a record may end inside a granule. If the record has several pieces,
// the bytes behind that end are zero in the file.
struct Piece {
  std::uint32_t store = 0;  // index in `present`, or their number + index of a record: the bytes that it stores itself
  ByteRange range;
  bool operator==(const Piece& other) const noexcept {
    return store == other.store && range.offset == other.range.offset && range.size == other.range.size;
  }
};

struct PageRecord {
  std::vector<Piece> pieces;   // concatenated, they are the record
  std::vector<ByteRange> own;  // ranges of the record that it stores itself, concatenated; may be none
  std::uint64_t own_bytes = 0;
  // About how many of its own bytes are in chunks of a record that came earlier in the order of work. They have moved,
  // or too few of them are in a row.
  std::uint64_t shifted_bytes = 0;
  // About how many of the others are in records that came earlier in the order of work, in another order.
  std::uint64_t reordered_bytes = 0;
};

struct PagePlan {
  std::vector<PageRecord> records;  // in the order of the inputs
  LayoutGroups layout;              // indexes of inputs
};

// Plans every record. `present` are segments that are stored already, in the order of the file; they are read and never
// changed.
//
// A record is kept in one piece of its own unless sharing saves 1/64 of its bytes: a direct view is worth more.
// Memory: about 70 bytes a granule and 2 MiB. Closes every source before it returns.
// Errors: those of reading, limit_exceeded (more than 2^32 granules).
[[nodiscard]] Result<PagePlan> plan_pages(std::span<const PageInput> records,
                                          std::span<const RecordBytes* const> present, const PageSettings& settings);

}  // namespace fatctx::container::sharing
