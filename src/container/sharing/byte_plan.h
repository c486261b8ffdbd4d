// Finding equal runs of bytes in records, at any byte offset, so that each is stored once: the first record of a layout
// group stays whole, the others become recipes that copy from what is stored. A first record of which more than half is
// stored already becomes a recipe too. The one place that decides it: for a new
// file, for what an append adds, for what a rewrite keeps.
//
// Bytes are compared before a run counts. Which records are given in which order, in which pieces they are read, and
// how often, changes nothing: the content decides the order of work.
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
  std::uint64_t min_copy_bytes = 128;         // at least 64; twice the least that a step may make on average
  std::uint64_t min_literal_bytes = 65536;    // from here on a literal lies in a segment, from where it can be mapped
  std::uint64_t min_saving_divisor = 64;      // a record is left whole unless this part of it is saved
  std::uint64_t min_base_saving_divisor = 2;  // the same for the first of a layout group
  std::uint32_t max_sources = 64;             // of one recipe
  unsigned threads = 1;                       // at least 1; changes nothing but the time
  // Of each store, where its segment comes in the file; empty: present ones first, then records, as they are given.
  std::vector<std::uint32_t> places = {};
};

struct BytePlan {
  std::vector<ByteRecord> records;  // in the order of the inputs
  LayoutGroups layout;              // indexes of inputs
};

// `present` are segments that are stored already, in the order of the file; they are read and never changed. A store is
// an index in `present`, or their number + the index of the record whose own bytes are meant. No two records are equal,
// and none is empty.
//
// Memory: 0.4 bytes for each stored one, 12 bytes a granule, 20 MiB, and the programs. Every source is closed when this
// returns. Errors: those of reading.
[[nodiscard]] Result<BytePlan> plan_bytes(std::span<const RecordBytes* const> records,
                                          std::span<const RecordBytes* const> present, const ByteSettings& settings);

}  // namespace fatctx::container::sharing
