// Checks payload against its leaf hashes. Bytes that are handed on are read with pread. Bytes that are only compared
// are looked at where they are mapped, if the file allows it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "container/read/parse.h"
#include "container/read/work_budget.h"
#include "mapping/look_through.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// The leaf hashes that a read compares.
enum class LeafHash { kXxh3, kSha256, kBoth };

// Returns the algorithm that decides whether bytes may be handed out: SHA-256 if the table is authenticated, else XXH3.
[[nodiscard]] inline LeafHash leaf_hash_of(const Toc& toc) noexcept {
  return toc.authenticated ? LeafHash::kSha256 : LeafHash::kXxh3;
}

struct LeafRange {  // half open, counted from the first leaf of the segment
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

// A copy of leaf hashes of one segment, of one algorithm or of both.
struct Leaves {
  std::uint64_t first = 0;  // the leaf of the first hash
  std::vector<Hash128> xxh3;
  std::vector<DiskSha256> sha256;

  // Requires: the leaf is among them.
  [[nodiscard]] bool match(std::uint64_t leaf, ByteView bytes) const noexcept;
};

// Reads the hashes of `range` and of the rest of its leaf pages, and checks them against the segment's row. Above 4,096
// leaves it reads the hashes of the leaf pages and then the pages that it needs. Requires: `segment` is of `toc` and
// has leaves of the algorithms that `which` names. In a signed table, every segment with leaves has SHA-256.
// Errors: checksum_mismatch (F26), not_present (they are zeros), truncated, io.
[[nodiscard]] Result<Leaves> read_leaves(const mapping::OsFile& file, const Toc& toc, const Segment& segment,
                                         LeafHash which, LeafRange range);
// The same for all leaves.
[[nodiscard]] Result<Leaves> read_leaves(const mapping::OsFile& file, const Toc& toc, const Segment& segment,
                                         LeafHash which);

// Returns the offset of the segment's leaf range in the file. Requires: it has more than one leaf.
[[nodiscard]] std::uint64_t offset_of_leaves(const Toc& toc, const Segment& segment) noexcept;
// Returns the same of its SHA-256 leaves, which it has.
[[nodiscard]] std::uint64_t offset_of_leaves(const Toc& toc, const SegmentDigest& digest) noexcept;

// A callback for each leaf: its bytes, and whether they match the hash. An error stops the walk.
using LeafVisitor = std::function<Status(std::uint64_t leaf, ByteView bytes, bool good)>;

// Reads `range` of `segment` in pieces of at most 1 MiB and calls `visit` for each leaf in order.
[[nodiscard]] Status walk_leaves(const mapping::OsFile& file, const Segment& segment, const Leaves& leaves,
                                 LeafRange range, const LeafVisitor& visit);

// A callback for each leaf that is only looked at. It computes, and no more (mapping::Look).
using LeafLook = std::function<void(std::uint64_t leaf, ByteView bytes, bool good)>;
using GoodLeafLook = std::function<void(std::uint64_t leaf, ByteView bytes)>;

// Looks at `range` of `segment` leaf by leaf, in order; calls `after` after each piece of at most 4 MiB.
// Errors: those of mapping::look_through.
[[nodiscard]] Status look_at_leaves(const mapping::OsFile& file, const Segment& segment, const Leaves& leaves,
                                    LeafRange range, const LeafLook& look, const mapping::AfterPiece& after);
// Compares `range` of `segment` with its leaves, and calls `look` for each leaf before the first damaged one.
// Errors: also checksum_mismatch (F26) and not_present: of the first leaf that does not match.
[[nodiscard]] Status compare_leaves(const mapping::OsFile& file, const Segment& segment, const Leaves& leaves,
                                    LeafRange range, const GoodLeafLook& look, const mapping::AfterPiece& after);
// Returns the error for a leaf that does not match its hash, naming its range in the file: not_present if all of its
// bytes are zero (docs/format.md, 5.8), else checksum_mismatch (F26).
[[nodiscard]] Error leaf_error(ByteRange in_file, bool zeros);

[[nodiscard]] LeafRange leaves_touched(ByteRange range_in_segment) noexcept;

struct SegmentLeaves {
  std::uint32_t segment = 0;
  LeafRange range;
};

// Sorts by segment, then by leaf. Each leaf appears once, in runs as long as possible. Slices of one record may share
// leaves.
void sort_and_join(std::vector<SegmentLeaves>& leaves);
// Returns the intersection of two ranges; empty if they are disjoint.
[[nodiscard]] constexpr ByteRange overlap(ByteRange a, ByteRange b) noexcept {
  const std::uint64_t first = std::max(a.offset, b.offset);
  const std::uint64_t end = std::min(a.offset + a.size, b.offset + b.size);
  return {first, first < end ? end - first : 0};
}
// Returns the leaves of a record's slices, or of `part` of its stored bytes, sorted and joined.
[[nodiscard]] std::vector<SegmentLeaves> leaves_under(const Toc& toc, const RecordInfo& record);
[[nodiscard]] std::vector<SegmentLeaves> leaves_under(const Toc& toc, const RecordInfo& record, ByteRange part);

// A cache of leaf hashes; reads each leaf page once and counts the bytes that it reads.
// Memory: 1/4096 of the bytes under the pages, 1/2048 if the hashes are SHA-256.
class LeafHashes {
 public:
  LeafHashes(const mapping::OsFile& file, const Toc& toc, WorkBudget budget)
      : file_(file), toc_(toc), budget_(std::move(budget)) {}
  // Returns hashes of a segment, among them that of `leaf`. Lifetime: this object's. Errors: those of read_leaves and
  // of WorkBudget::make.
  [[nodiscard]] Result<const Leaves*> of(std::uint32_t segment, std::uint64_t leaf);

 private:
  const mapping::OsFile& file_;
  const Toc& toc_;
  WorkBudget budget_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Leaves> known_;  // by segment and leaf page
};

}  // namespace fatctx::container
