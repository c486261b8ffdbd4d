#include "container/write/copy_payload.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "container/format/hash.h"
#include "container/format/leaf_range.h"

namespace fatctx::container {
namespace {

// Large calls give large folios in the page cache, which make the first touch of a mapping cheaper. A multiple of the
// leaf size, so that a leaf never spans two calls.
constexpr std::size_t kCopyUnit = std::size_t{4} << 20;
static_assert(kCopyUnit % kLeafSize == 0);

// A writer of segments: copies inputs, hashes records and leaves, and writes the leaves to their planned place.
class Copier {
 public:
  Copier(Plan& plan, mapping::OsFile& file) : plan_(plan), file_(file) {}

  Status run() {
    PlannedSegment* home = nullptr;  // of the leaves
    for (PlannedSegment& segment : plan_.segments) {
      if (segment.kind == SegmentKind::kLeaves && segment.hash_algorithm == kHashXxh3) home = &segment;
    }
    if (home != nullptr) leaves_at_ = home->offset;
    for (PlannedSegment& segment : plan_.segments) {
      if (segment.kind != SegmentKind::kLeaves) FATCTX_TRY(copy_segment(segment));
    }
    FATCTX_TRY(flush_leaves());
    if (home != nullptr) home->leaves_hash = all_leaves_.digest();
    for (PlannedRecord& planned : plan_.records) {
      if (planned.input.size() == 0) planned.hash = hash128({});  // it is in no segment, so nothing has hashed it
      FATCTX_TRY(planned.input.check_unchanged());
    }
    return Done{};
  }

 private:
  Status copy_segment(PlannedSegment& segment) {
    LeafRangeBuilder<Hash128> segment_leaves(segment.leaf_count());
    PlannedRecord& planned = plan_.records[segment.records.front()];
    if (segment.kind == SegmentKind::kPacked || planned.codec != Codec::kNone) {
      FATCTX_TRY(gather(segment, segment_leaves));
    } else {
      Hasher record_hash;
      auto range = planned.own.begin();
      std::uint64_t taken = 0;  // of the range
      for (std::uint64_t at = 0; at < segment.size;) {
        buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyUnit, segment.size - at)));
        for (auto rest = std::span(buffer_); !rest.empty();) {
          const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), range->size - taken));
          FATCTX_TRY(planned.input.read_at(range->offset + taken, rest.first(size)));
          rest = rest.subspan(size);
          taken += size;
          if (taken < range->size) continue;
          ++range;
          taken = 0;
        }
        if (!planned.shares()) record_hash.update(buffer_);
        FATCTX_TRY(put(segment, at, segment_leaves));
        at += buffer_.size();
      }
      planned.hash = record_hash.digest();  // wrong for one that shares: check_rebuilt() sets it
      FATCTX_TRY(planned.input.check_unchanged());
      planned.input.close();
    }
    segment.leaves_hash = segment_leaves.finish();
    return take_leaves(segment_leaves);
  }

  // Collects small and compressed records in units too; zeros fill the gaps up to their alignment.
  Status gather(const PlannedSegment& segment, LeafRangeBuilder<Hash128>& segment_leaves) {
    std::uint64_t written = 0;
    for (const std::size_t index : segment.records) {
      PlannedRecord& planned = plan_.records[index];
      // The first record begins with the segment: nothing of the segment before is left.
      buffer_.resize(static_cast<std::size_t>(planned.slices[0].range.offset - written));
      std::uint64_t stored = 0;
      const auto append = [&](ByteView bytes) -> Status {
        stored += bytes.size();
        if (stored > planned.stored_size) return changed(planned);
        while (!bytes.empty()) {
          const ByteView piece = bytes.first(std::min(bytes.size(), kCopyUnit - buffer_.size()));
          buffer_.insert(buffer_.end(), piece.begin(), piece.end());
          bytes = bytes.subspan(piece.size());
          if (buffer_.size() < kCopyUnit) continue;
          FATCTX_TRY(put(segment, written, segment_leaves));
          written += buffer_.size();
          buffer_.clear();
        }
        return Done{};
      };
      if (planned.recipe) {  // the record's bytes have no hash before they are rebuilt
        FATCTX_TRY(append(planned.recipe->program));
        continue;
      }
      FATCTX_ASSIGN(planned.hash, planned.codec == Codec::kNone ? read_input(planned.input, append)
                                                                : compress_input(planned.input, append));
      if (stored != planned.stored_size) return changed(planned);
      planned.input.close();
    }
    return buffer_.empty() ? Status(Done{}) : put(segment, written, segment_leaves);
  }

  // Reports a changed input: other bytes compress to another size, and only the size was planned.
  static Error changed(const PlannedRecord& planned) {
    return Error{ErrorCode::kChanged, fmt::format("{}: changed while it was being packed; pack again when it is still",
                                                  planned.input.name())};
  }

  // Writes buffer_ at offset `at` of the segment and hashes its leaves.
  Status put(const PlannedSegment& segment, std::uint64_t at, LeafRangeBuilder<Hash128>& segment_leaves) {
    FATCTX_TRY(file_.write_at(segment.offset + at, buffer_));
    ByteView rest = buffer_;
    while (!rest.empty()) {
      const ByteView leaf = rest.first(std::min<std::size_t>(rest.size(), kLeafSize));
      segment_leaves.add(hash128(leaf));
      rest = rest.subspan(leaf.size());
    }
    return take_leaves(segment_leaves);
  }

  Status take_leaves(LeafRangeBuilder<Hash128>& segment_leaves) {
    const std::vector<std::byte> more = segment_leaves.take();
    leaves_.insert(leaves_.end(), more.begin(), more.end());
    return leaves_.size() < kLeafSize ? Status(Done{}) : flush_leaves();
  }

  Status flush_leaves() {
    if (leaves_.empty()) return Done{};
    FATCTX_TRY(file_.write_at(leaves_at_, leaves_));
    all_leaves_.update(leaves_);
    leaves_at_ += leaves_.size();
    leaves_.clear();
    return Done{};
  }

  Plan& plan_;
  mapping::OsFile& file_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> leaves_;  // not yet written
  Hasher all_leaves_;
  std::uint64_t leaves_at_ = 0;  // where the next leaves are written
};

// Returns how many bytes of the inputs the copy reads.
std::uint64_t input_bytes(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.kind == SegmentKind::kLeaves) continue;
    for (const std::size_t index : segment.records) {
      const PlannedRecord& planned = plan.records[index];
      const bool whole = segment.kind == SegmentKind::kPacked || planned.codec != Codec::kNone;
      const bool program = segment.kind == SegmentKind::kPacked && planned.recipe.has_value();
      if (whole && !program) bytes += planned.input.size();
      if (!whole) bytes += planned.own_bytes;
    }
  }
  return bytes;
}

}  // namespace

Status copy_payload(Plan& plan, mapping::OsFile& file, WorkProgress& progress) {
  progress.begin(input_bytes(plan));
  return Copier(plan, file).run();
}

}  // namespace fatctx::container
