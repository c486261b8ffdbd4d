// Finding equal runs of granules ("pages") in records, so that each is stored once and every record still maps without
// a copy. The one place that decides it: for a new file, for what an append adds, for what a rewrite keeps.
//
// A hash finds candidates; the bytes are compared before a match counts. Which records are given in which order, and
// how often, changes nothing: the content decides the order of work.
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
  std::uint32_t slice_rows = 1;        // how many records of the file have these bytes and repeat the slices
};

struct PageSettings {
  unsigned granule_log2 = 12;
  std::uint64_t min_run_bytes = 32768;  // eight pages of 4 KiB: a shorter run is not worth a piece, nor its page faults
  std::uint64_t min_saving_divisor = 64;  // a record is left whole unless this part of it is saved
  std::uint32_t max_pieces = 4096;        // a record that needs more stores its shortest runs again; at least 1
  std::uint64_t max_slices = 65536;       // of all records together; at least one for each
  bool explain = false;                   // fill in `reordered_bytes`, which takes another pass over the records
  unsigned threads = 1;                   // at least 1; changes nothing but the time
  GranuleHash hash = granule_hash;        // tests put collisions here
};

// Bytes of a stored segment. The last piece may end inside a granule; what lies behind it in the file is zero then,
// if the record has several pieces.
struct Piece {
  std::uint32_t store = 0;  // index in `present`, or their number + index of the record whose own bytes are meant
  ByteRange range;
  bool operator==(const Piece& other) const noexcept {
    return store == other.store && range.offset == other.range.offset && range.size == other.range.size;
  }
};

struct PageRecord {
  std::vector<Piece> pieces;   // one behind the other they are the record
  std::vector<ByteRange> own;  // of the record: what it stores itself, one behind the other; may be none
  std::uint64_t own_bytes = 0;
  // Of its own bytes, about how many lie in chunks of a record that was worked on before it: moved, or too few in a
  // row.
  std::uint64_t shifted_bytes = 0;
  // Of the others, about how many stand in records that were worked on before it, in another order.
  std::uint64_t reordered_bytes = 0;
};

struct PagePlan {
  std::vector<PageRecord> records;  // in the order of the inputs
  LayoutGroups layout;              // indexes of inputs
};

// `present` are segments that are stored already, in the order of the file; they are read and never changed.
//
// A record is kept in one piece of its own unless sharing saves 1/64 of its bytes: a direct view is worth more.
// Memory: about 70 bytes a granule and 2 MiB. Every source is closed when this returns.
// Errors: those of reading, limit_exceeded (more than 2^32 granules).
[[nodiscard]] Result<PagePlan> plan_pages(std::span<const PageInput> records,
                                          std::span<const RecordBytes* const> present, const PageSettings& settings);

}  // namespace fatctx::container::sharing
