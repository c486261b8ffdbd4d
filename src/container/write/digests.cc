#include "container/write/digests.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "container/format/crypto.h"
#include "container/format/leaf_range.h"
#include "container/read/record_stream.h"
#include "container/read/work_budget.h"
#include "container/write/toc_build.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kUnit = std::size_t{1} << 20;
static_assert(kUnit % kLeafSize == 0);

// Hashes a segment and returns its leaf range.
Result<std::vector<std::byte>> hash_leaves(PlannedSegment& segment, const mapping::OsFile& file,
                                           const PackOptions& options, WorkProgress& progress) {
  LeafRangeBuilder<DiskSha256> range(segment.leaf_count());
  std::vector<std::byte> unit;
  for (std::uint64_t at = 0; at < segment.size; at += unit.size()) {
    FATCTX_TRY(go_on(options.cancel));
    unit.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kUnit, segment.size - at)));
    FATCTX_TRY(file.read_at(segment.offset + at, unit));
    FATCTX_TRY(progress.add(unit.size()));
    for (ByteView rest = unit; !rest.empty();) {
      const ByteView leaf = rest.first(std::min<std::size_t>(rest.size(), kLeafSize));
      range.add(sha256(leaf));
      rest = rest.subspan(leaf.size());
    }
  }
  segment.leaves_sha256 = range.finish();
  return range.take();
}

Status hash_segments(Plan& plan, mapping::OsFile& file, const PackOptions& options, WorkProgress& progress) {
  PlannedSegment* home = nullptr;  // of the leaves
  for (PlannedSegment& segment : plan.segments) {
    if (segment.kind == SegmentKind::kLeaves && segment.hash_algorithm == kHashSha256) home = &segment;
  }
  Hasher all;
  std::uint64_t at = home == nullptr ? 0 : home->offset;
  for (PlannedSegment& segment : plan.segments) {
    if (segment.kind == SegmentKind::kLeaves) continue;
    FATCTX_ASSIGN(const std::vector<std::byte> leaves, hash_leaves(segment, file, options, progress));
    if (leaves.empty()) continue;
    FATCTX_TRY(file.write_at(at, leaves));
    all.update(leaves);
    at += leaves.size();
  }
  if (home != nullptr) home->leaves_hash = all.digest();
  return Done{};
}

// Hashes the records as a reader sees them.
Status hash_records(Plan& plan, const mapping::OsFile& file, const PackOptions& options, WorkProgress& progress) {
  FATCTX_ASSIGN(std::vector<std::byte> bytes, build_toc(plan, options, 1));
  Header header;
  header.generation = 1;
  header.extent_log2 = plan.extent_log2;
  header.granule_log2 = options.granule_log2;
  header.committed_end = plan.committed_end;
  header.toc_offset = plan.toc_offset;
  header.toc_size = plan.toc_size.all;
  header.toc_head_size = plan.toc_size.head;
  FATCTX_ASSIGN(const Toc toc, parse_toc(std::move(bytes), header, 0));
  const WorkBudget budget(toc, std::numeric_limits<std::uint64_t>::max());  // the caller brought these bytes
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    if (plan.records[i].stored_as != i) continue;
    Sha256 hasher;
    FATCTX_TRY(stream_logical(file, toc, toc.records[i], budget, [&](ByteView piece) -> Status {
      hasher.update(piece);
      FATCTX_TRY(progress.add_little(piece.size()));
      return go_on(options.cancel);
    }));
    plan.records[i].sha256 = hasher.digest();
  }
  return Done{};
}

// Returns how many bytes the digests take: those of the segments, and those of the records.
std::uint64_t hashed_bytes(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (const PlannedSegment& segment : plan.segments) bytes += segment.kind == SegmentKind::kLeaves ? 0 : segment.size;
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    if (plan.records[i].stored_as == i) bytes += plan.records[i].input.size();
  }
  return bytes;
}

}  // namespace

Status add_digests(Plan& plan, mapping::OsFile& file, const PackOptions& options, WorkProgress& progress) {
  if (!plan.sha256) return Done{};
  progress.begin(hashed_bytes(plan));
  FATCTX_TRY(hash_segments(plan, file, options, progress));
  return hash_records(plan, file, options, progress);
}

}  // namespace fatctx::container
