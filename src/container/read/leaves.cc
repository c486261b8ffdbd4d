#include "container/read/leaves.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "container/format/leaf_range.h"
#include "container/read/stored_rows.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kLeavesPerRead = 16;  // 1 MiB

}  // namespace

LeafRange leaves_touched(ByteRange range) noexcept {
  if (range.size == 0) return {};
  return {range.offset >> kLeafLog2, ((range.offset + range.size - 1) >> kLeafLog2) + 1};
}

std::uint64_t offset_of_leaves(const Toc& toc, const Segment& segment) noexcept {
  return toc.segments[segment.leaves_segment].offset + segment.first_leaf * sizeof(DiskHash);
}

std::uint64_t offset_of_leaves(const Toc& toc, const SegmentDigest& digest) noexcept {
  return toc.segments[digest.leaves_segment].offset + digest.first_leaf * sizeof(DiskSha256);
}

namespace {

// Where a segment's hashes of one algorithm are, and what they have to match.
template <typename Hash>
struct StoredLeaves {
  std::uint64_t count = 0;
  std::uint64_t offset = 0;  // of the leaf range; not set for one leaf
  Hash root;                 // of one leaf: the leaf
};

// Returns the error for leaf hashes that do not match theirs. Those of a partial file may be zeros, like its payload.
Error damaged_leaves(std::uint64_t offset, ByteView hashes) {
  if (all_zero(hashes)) {
    return Error{ErrorCode::kNotPresent,
                 fmt::format("the leaf hashes at bytes {:#x} to {:#x} of the file are not present", offset,
                             offset + hashes.size()),
                 {.file_offset = offset, .rule = "F26"}};
  }
  return Error{ErrorCode::kChecksumMismatch, "the leaf hashes are damaged", {.file_offset = offset, .rule = "F26"}};
}

// Reads the hashes from page to page; `range` begins and ends with pages.
template <typename Hash>
Status read_hashes(const mapping::OsFile& file, const StoredLeaves<Hash>& stored, LeafRange range,
                   std::vector<Hash>& hashes) {
  if (stored.count == 1) {
    hashes.assign(1, stored.root);
    return Done{};
  }
  hashes.resize(static_cast<std::size_t>(range.end - range.first));
  const auto bytes = std::as_writable_bytes(std::span(hashes));
  const std::uint64_t offset = stored.offset + range.first * sizeof(Hash);
  FATCTX_TRY(file.read_at(offset, bytes));
  if (stored.count <= kLeavesPerPage) {
    return leaf_hash<Hash>(bytes) == stored.root ? Status(Done{}) : damaged_leaves(offset, bytes);
  }
  std::vector<Hash> pages(static_cast<std::size_t>((stored.count + kLeavesPerPage - 1) / kLeavesPerPage));
  const auto page_bytes = std::as_writable_bytes(std::span(pages));
  FATCTX_TRY(file.read_at(stored.offset + stored.count * sizeof(Hash), page_bytes));
  if (leaf_hash<Hash>(page_bytes) != stored.root) {
    return damaged_leaves(stored.offset + stored.count * sizeof(Hash), page_bytes);
  }
  constexpr std::size_t kPageBytes = kLeavesPerPage * sizeof(Hash);
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
    const ByteView page = ByteView(bytes).subspan(at, std::min(kPageBytes, bytes.size() - at));
    const std::uint64_t index = range.first / kLeavesPerPage + at / kPageBytes;
    if (leaf_hash<Hash>(page) != pages[static_cast<std::size_t>(index)]) return damaged_leaves(offset + at, page);
  }
  return Done{};
}

}  // namespace

bool Leaves::match(std::uint64_t leaf, ByteView bytes) const noexcept {
  const auto index = static_cast<std::size_t>(leaf - first);
  return (xxh3.empty() || hash128(bytes) == xxh3[index]) &&
         (this->sha256.empty() || container::sha256(bytes) == this->sha256[index]);
}

Result<Leaves> read_leaves(const mapping::OsFile& file, const Toc& toc, const Segment& segment, LeafHash which,
                           LeafRange range) {
  const std::uint64_t count = segment.leaf_count();
  Leaves leaves;
  leaves.first = range.first / kLeavesPerPage * kLeavesPerPage;
  range = {leaves.first, std::min(count, (range.end + kLeavesPerPage - 1) / kLeavesPerPage * kLeavesPerPage)};
  if (which != LeafHash::kSha256) {
    const StoredLeaves<Hash128> stored{count, count == 1 ? 0 : offset_of_leaves(toc, segment), segment.leaves_hash};
    FATCTX_TRY(read_hashes(file, stored, range, leaves.xxh3));
  }
  if (which != LeafHash::kXxh3) {
    const SegmentDigest digest =
        StoredRows(toc).segment_digest(static_cast<std::uint64_t>(&segment - toc.segments.data()));
    const StoredLeaves<DiskSha256> stored{count, count == 1 ? 0 : offset_of_leaves(toc, digest), digest.leaves_sha256};
    FATCTX_TRY(read_hashes(file, stored, range, leaves.sha256));
  }
  return leaves;
}

Result<Leaves> read_leaves(const mapping::OsFile& file, const Toc& toc, const Segment& segment, LeafHash which) {
  return read_leaves(file, toc, segment, which, {0, segment.leaf_count()});
}

Status walk_leaves(const mapping::OsFile& file, const Segment& segment, const Leaves& leaves, LeafRange range,
                   const LeafVisitor& visit) {
  const std::uint64_t most = (range.end - range.first) << kLeafLog2;
  const auto unit = static_cast<std::size_t>(std::min({kLeavesPerRead * kLeafSize, segment.size, most}));
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(unit);
  for (std::uint64_t leaf = range.first; leaf < range.end;) {
    const std::uint64_t start = leaf << kLeafLog2;
    const std::uint64_t stop = std::min({(leaf + kLeavesPerRead) << kLeafLog2, range.end << kLeafLog2, segment.size});
    const std::span<std::byte> piece(buffer.get(), static_cast<std::size_t>(stop - start));
    FATCTX_TRY(file.read_at(segment.offset + start, piece));
    for (ByteView rest = piece; !rest.empty(); ++leaf) {
      const ByteView bytes = rest.first(std::min<std::size_t>(rest.size(), kLeafSize));
      FATCTX_TRY(visit(leaf, bytes, leaves.match(leaf, bytes)));
      rest = rest.subspan(bytes.size());
    }
  }
  return Done{};
}

Status look_at_leaves(const mapping::OsFile& file, const Segment& segment, const Leaves& leaves, LeafRange range,
                      const LeafLook& look, const mapping::AfterPiece& after) {
  const std::uint64_t start = range.first << kLeafLog2;
  const std::uint64_t stop = std::min(range.end << kLeafLog2, segment.size);
  if (start >= stop) return Done{};
  std::uint64_t leaf = range.first;
  return mapping::look_through(
      file, {segment.offset + start, stop - start},
      [&](ByteView rest) {
        for (; !rest.empty(); ++leaf) {
          const ByteView bytes = rest.first(std::min<std::size_t>(rest.size(), kLeafSize));
          look(leaf, bytes, leaves.match(leaf, bytes));
          rest = rest.subspan(bytes.size());
        }
      },
      after);
}

Status compare_leaves(const mapping::OsFile& file, const Segment& segment, const Leaves& leaves, LeafRange range,
                      const GoodLeafLook& look, const mapping::AfterPiece& after) {
  std::optional<ByteRange> damaged;  // the first one
  bool zeros = false;
  const auto compare = [&](std::uint64_t leaf, ByteView bytes, bool good) {
    if (!good && !damaged) {
      damaged = ByteRange{segment.offset + (leaf << kLeafLog2), bytes.size()};
      zeros = all_zero(bytes);
    }
    if (!damaged) look(leaf, bytes);
  };
  return look_at_leaves(file, segment, leaves, range, compare, [&](std::uint64_t size) -> Status {
    return damaged ? Status(leaf_error(*damaged, zeros)) : after(size);
  });
}

Error leaf_error(ByteRange in_file, bool zeros) {
  return Error{zeros ? ErrorCode::kNotPresent : ErrorCode::kChecksumMismatch,
               fmt::format("bytes {:#x} to {:#x} of the file are {}", in_file.offset, in_file.offset + in_file.size,
                           zeros ? "not present" : "damaged"),
               {.file_offset = in_file.offset, .rule = "F26"}};
}

void sort_and_join(std::vector<SegmentLeaves>& leaves) {
  std::sort(leaves.begin(), leaves.end(), [](const SegmentLeaves& a, const SegmentLeaves& b) {
    return std::pair(a.segment, a.range.first) < std::pair(b.segment, b.range.first);
  });
  std::size_t kept = 0;
  for (const SegmentLeaves& next : leaves) {
    if (kept != 0 && leaves[kept - 1].segment == next.segment && leaves[kept - 1].range.end >= next.range.first) {
      leaves[kept - 1].range.end = std::max(leaves[kept - 1].range.end, next.range.end);
    } else {
      leaves[kept++] = next;
    }
  }
  leaves.resize(kept);
}

std::vector<SegmentLeaves> leaves_under(const Toc& toc, const RecordInfo& record) {
  return leaves_under(toc, record, {0, record.stored_bytes});
}

std::vector<SegmentLeaves> leaves_under(const Toc& toc, const RecordInfo& record, ByteRange part) {
  std::vector<SegmentLeaves> leaves;
  leaves.reserve(record.slice_count);
  const std::uint32_t first = toc.forms[toc.index_of(record)].first_slice;
  std::uint64_t offset_in_record = 0;
  for (std::uint32_t i = 0; i < record.slice_count; ++i) {
    const Slice& slice = toc.slices[first + i];
    const ByteRange wanted = overlap({offset_in_record, slice.range.size}, part);
    if (wanted.size != 0) {
      const std::uint64_t skipped = wanted.offset - offset_in_record;
      leaves.push_back({slice.segment, leaves_touched({slice.range.offset + skipped, wanted.size})});
    }
    offset_in_record += slice.range.size;
  }
  sort_and_join(leaves);
  return leaves;
}

Result<const Leaves*> LeafHashes::of(std::uint32_t segment, std::uint64_t leaf) {
  const std::pair<std::uint32_t, std::uint64_t> key(segment, leaf / kLeavesPerPage);
  const auto known = known_.find(key);
  if (known != known_.end()) return &known->second;
  const Segment& of = toc_.segments[segment];
  const std::uint64_t first = key.second * kLeavesPerPage;
  FATCTX_TRY(budget_.make(std::min(kLeavesPerPage, of.leaf_count() - first) * sizeof(DiskHash)));
  FATCTX_ASSIGN(Leaves leaves, read_leaves(file_, toc_, of, leaf_hash_of(toc_), {first, first + 1}));
  return &known_.emplace(key, std::move(leaves)).first->second;
}

}  // namespace fatctx::container
