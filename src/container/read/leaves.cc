#include "container/read/leaves.h"

#include <algorithm>
#include <cstring>

#include "container/format/crypto.h"
#include "container/format/hash.h"
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

std::uint64_t offset_of_sha_leaves(const Toc& toc, const SegmentEntry& row) noexcept {
  return toc.segments[row.sha_leaves_segment].offset + row.sha_first_leaf * sizeof(DiskSha256);
}

namespace {

Error damaged_leaves(std::uint64_t offset) {
  return Error{ErrorCode::kChecksumMismatch, "the leaf hashes are damaged", {.file_offset = offset, .rule = "F26"}};
}

}  // namespace

bool Leaves::match(std::uint64_t leaf, ByteView bytes) const noexcept {
  const auto index = static_cast<std::size_t>(leaf);
  return (xxh3.empty() || hash128(bytes) == xxh3[index]) &&
         (this->sha256.empty() || container::sha256(bytes) == this->sha256[index]);
}

Result<Leaves> read_leaves(const mapping::OsFile& file, const Toc& toc, const Segment& segment, LeafHash which) {
  Leaves leaves;
  const auto count = static_cast<std::size_t>(segment.leaf_count());
  if (which != LeafHash::kSha256) {
    leaves.xxh3.resize(count);
    const std::uint64_t offset = offset_of_leaves(toc, segment);
    const auto bytes = std::as_writable_bytes(std::span(leaves.xxh3));
    FATCTX_TRY(file.read_at(offset, bytes));
    if (hash128(bytes) != segment.leaves_hash) return damaged_leaves(offset);
  }
  if (which != LeafHash::kXxh3) {
    leaves.sha256.resize(count);
    const SegmentEntry row = StoredRows(toc).segment(static_cast<std::uint64_t>(&segment - toc.segments.data()));
    const std::uint64_t offset = offset_of_sha_leaves(toc, row);
    const auto bytes = std::as_writable_bytes(std::span(leaves.sha256));
    FATCTX_TRY(file.read_at(offset, bytes));
    if (sha256(bytes) != row.leaves_sha256) return damaged_leaves(offset);
  }
  return leaves;
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

Result<const Leaves*> LeafHashes::of(std::uint32_t segment) {
  const auto known = known_.find(segment);
  if (known != known_.end()) return &known->second;
  FATCTX_TRY(budget_.make(toc_.segments[segment].leaf_count() * sizeof(DiskHash)));
  FATCTX_ASSIGN(Leaves leaves, read_leaves(file_, toc_, toc_.segments[segment], leaf_hash_of(toc_)));
  return &known_.emplace(segment, std::move(leaves)).first->second;
}

}  // namespace fatctx::container
