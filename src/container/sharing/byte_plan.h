// Finds equal runs of bytes in records, at any byte offset, so that each is stored once. The first record stays whole;
// the others become recipes that copy from stored bytes, if that saves enough. Decides this for new files, for appends
// and for rewrites; nothing else does.
//
// Bytes are compared before a run counts. The content decides the order of work: the order of the given records, the
// pieces in which they are read, and repeated records change nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/sharing/layout_groups.h"
#include "container/sharing/recipe_draft.h"
#include "container/sharing/record_bytes.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::container::sharing {

struct ByteSettings {
  unsigned granule_log2 = 12;
  std::uint64_t min_copy_bytes = 128;       // at least 64; twice the least that a step may make on average
  std::uint64_t min_literal_bytes = 65536;  // a literal of this size is stored in a segment, where it can be mapped
  std::uint64_t min_saving_divisor = 64;    // a record stays whole if the saving is below its size divided by this
  std::uint32_t max_sources = 64;           // of one recipe
  unsigned threads = 1;                     // at least 1; changes nothing but the time
  // For each store, the position of its segment in the file. If empty: the present ones, then records, in given order.
  std::vector<std::uint32_t> places = {};
};

struct BytePlan {
  std::vector<ByteRecord> records;  // in the order of the inputs
  LayoutGroups layout;              // indexes of inputs
};

// Plans every record. `present` are segments that are stored already, in the order of the file; they are read and
// never changed. A store is an index in `present`, or their number + the index of a record: then it means the bytes
// that this record stores itself. Requires: no two records are equal; none is empty.
//
// Memory: 0.4 bytes for each stored one, 12 bytes a granule, 20 MiB, and the programs. Closes every source before it
// returns. Errors: those of reading.
[[nodiscard]] Result<BytePlan> plan_bytes(std::span<const RecordBytes* const> records,
                                          std::span<const RecordBytes* const> present, const ByteSettings& settings);

}  // namespace fatctx::container::sharing
