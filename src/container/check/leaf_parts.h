// The stored leaf hashes in the parts that one hash vouches for: a file must hold them before a leaf can be judged.
#pragma once

#include <cstdint>
#include <vector>

#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Returns the algorithms whose leaf hashes the table names for a segment.
[[nodiscard]] std::vector<LeafHash> leaf_hashes_named(const Toc& toc, std::uint32_t segment);

// Returns where the hashes are that the leaves `range` of a segment need: the range as a whole for up to 4,096 leaves;
// above that the hashes of the leaf pages, then each page. Nothing for one leaf, which is in the table.
// Requires: `which` is one algorithm; the segment has leaves of it.
[[nodiscard]] std::vector<ByteRange> places_of_leaf_hashes(const Toc& toc, std::uint32_t segment, LeafHash which,
                                                           LeafRange range);

enum class PartState : std::uint8_t { kGood, kAbsent, kDamaged };

// A part of the stored leaf hashes. kAbsent: it is zeros, and its hash says otherwise. A page is judged by zeros alone
// if the hashes of the pages are not good themselves.
struct LeavesPart {
  ByteRange in_file;
  PartState state = PartState::kGood;
};

// Reads and judges the parts of places_of_leaf_hashes(). Errors: truncated, io.
[[nodiscard]] Result<std::vector<LeavesPart>> judge_leaf_hashes(const mapping::OsFile& file, const Toc& toc,
                                                                std::uint32_t segment, LeafHash which, LeafRange range);
// Judges all parts in a LEAVES segment, in the order of the segments that they belong to. Errors: truncated, io.
[[nodiscard]] Result<std::vector<LeavesPart>> parts_of_leaves_segment(const mapping::OsFile& file, const Toc& toc,
                                                                      std::uint32_t leaves_segment);

}  // namespace fatctx::container
