#include "container/check/absent_leaves.h"

#include <algorithm>
#include <optional>
#include <span>

#include "container/format/copy_out.h"
#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "mapping/file_holes.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kFirstLook = 4096;  // bytes of a leaf that are read before the rest of it

// Returns the algorithms whose hashes a reader of this table needs.
std::vector<LeafHash> algorithms_of(const Toc& toc) {
  return toc.authenticated ? std::vector{LeafHash::kXxh3, LeafHash::kSha256} : std::vector{LeafHash::kXxh3};
}

// Joins ranges that touch. Requires: they ascend and do not overlap.
std::vector<ByteRange> joined(const std::vector<ByteRange>& ranges) {
  std::vector<ByteRange> out;
  for (const ByteRange& range : ranges) {
    if (!out.empty() && out.back().offset + out.back().size == range.offset) {
      out.back().size += range.size;
    } else {
      out.push_back(range);
    }
  }
  return out;
}

void sort_by_place(std::vector<ByteRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](ByteRange a, ByteRange b) { return a.offset < b.offset; });
}

}  // namespace

class AbsentLeaves::Finder {
 public:
  Finder(const mapping::OsFile& file, const Toc& toc, LookFor look_for, const mapping::AfterPiece& after,
         AbsentLeaves& absent)
      : file_(file), toc_(toc), look_for_(look_for), after_(after), absent_(absent), zeros_(kLeafSize) {}

  Status run() {
    if (look_for_ == LookFor::kHoles) {
      std::uint64_t end = 0;
      for (const Segment& segment : toc_.segments) end = std::max(end, segment.offset + segment.size);
      holes_ = mapping::holes_of(file_, {0, end});
      if (holes_.empty()) return Done{};
    }
    for (std::uint32_t i = 0; i < toc_.segments.size(); ++i) {
      if (!toc_.segments[i].holds_payload()) continue;
      FATCTX_TRY(look_at_hashes(i));
      FATCTX_TRY(look_at_payload(i));
    }
    sort_by_place(absent_.hashes_);
    return Done{};
  }

 private:
  // Returns the first hole that ends behind `offset`.
  [[nodiscard]] std::vector<ByteRange>::const_iterator hole_at(std::uint64_t offset) const {
    return std::partition_point(holes_.begin(), holes_.end(),
                                [&](ByteRange hole) { return hole.offset + hole.size <= offset; });
  }

  [[nodiscard]] bool may_be_absent(ByteRange range) const {
    if (look_for_ == LookFor::kZeros) return true;
    const auto hole = hole_at(range.offset);
    return hole != holes_.end() && hole->offset <= range.offset &&
           range.offset + range.size <= hole->offset + hole->size;
  }

  Status look_at_hashes(std::uint32_t index) {
    const LeafRange all{0, toc_.segments[index].leaf_count()};
    for (const LeafHash which : leaf_hashes_named(toc_, index)) {
      const std::vector<ByteRange> places = places_of_leaf_hashes(toc_, index, which, all);
      if (std::none_of(places.begin(), places.end(), [&](ByteRange place) { return may_be_absent(place); })) continue;
      FATCTX_ASSIGN(const std::vector<LeavesPart> parts, judge_leaf_hashes(file_, toc_, index, which, all));
      for (const LeavesPart& part : parts) {
        if (part.state == PartState::kAbsent) absent_.hashes_.push_back(part.in_file);
      }
    }
    return Done{};
  }

  Status look_at_payload(std::uint32_t index) {
    const Segment& segment = toc_.segments[index];
    if (look_for_ == LookFor::kZeros) {
      for (std::uint64_t leaf = 0; leaf < segment.leaf_count(); ++leaf) {
        FATCTX_ASSIGN(const bool zeros, is_zeros(segment, leaf));
        if (zeros) FATCTX_TRY(judge(index, {leaf, leaf + 1}));
        FATCTX_TRY(after_(size_of(segment, leaf)));
      }
      return Done{};
    }
    const std::uint64_t end = segment.offset + segment.size;
    for (auto hole = hole_at(segment.offset); hole != holes_.end() && hole->offset < end; ++hole) {
      const ByteRange inside = overlap(*hole, {segment.offset, segment.size});
      const std::uint64_t from = inside.offset - segment.offset;
      const std::uint64_t to = from + inside.size;
      const LeafRange whole{(from + kLeafSize - 1) >> kLeafLog2,
                            to == segment.size ? segment.leaf_count() : to >> kLeafLog2};
      if (whole.first < whole.end) FATCTX_TRY(judge(index, whole));
    }
    return Done{};
  }

  static std::size_t size_of(const Segment& segment, std::uint64_t leaf) {
    return static_cast<std::size_t>(std::min(kLeafSize, segment.size - (leaf << kLeafLog2)));
  }

  Result<bool> is_zeros(const Segment& segment, std::uint64_t leaf) {
    const std::uint64_t offset = segment.offset + (leaf << kLeafLog2);
    const std::size_t size = size_of(segment, leaf);
    bytes_.resize(size);
    const std::size_t first = std::min(size, kFirstLook);
    FATCTX_TRY(file_.read_at(offset, std::span(bytes_).first(first)));
    if (!all_zero(ByteView(bytes_).first(first))) return false;
    FATCTX_TRY(file_.read_at(offset + first, std::span(bytes_).subspan(first)));
    return all_zero(bytes_);
  }

  // Adds those of `zeros` that should not be zeros. Leaves without good hashes are among them.
  Status judge(std::uint32_t index, LeafRange zeros) {
    const Segment& segment = toc_.segments[index];
    for (std::uint64_t first = zeros.first; first < zeros.end;) {  // from leaf page to leaf page
      const std::uint64_t stop = std::min(zeros.end, (first / kLeavesPerPage + 1) * kLeavesPerPage);
      if (known_.segment != index || known_.page != first / kLeavesPerPage) {
        auto leaves = read_leaves(file_, toc_, segment, leaf_hash_of(toc_), {first, first + 1});
        if (!leaves.ok() && leaves.error().code != ErrorCode::kNotPresent &&
            leaves.error().code != ErrorCode::kChecksumMismatch) {
          return std::move(leaves).error();
        }
        known_ = {index, first / kLeavesPerPage, leaves.ok(), leaves.ok() ? std::move(leaves).value() : Leaves()};
      }
      for (std::uint64_t leaf = first; leaf < stop; ++leaf) {
        if (known_.good && is_meant(segment, leaf)) continue;
        absent_.add(index, {leaf, leaf + 1});
      }
      first = stop;
    }
    return Done{};
  }

  // Returns whether the hash of the leaf is that of zeros.
  [[nodiscard]] bool is_meant(const Segment& segment, std::uint64_t leaf) {
    const ByteView zeros = ByteView(zeros_).first(size_of(segment, leaf));
    if (zeros.size() != kLeafSize) return known_.leaves.match(leaf, zeros);
    if (!whole_) whole_.emplace(Whole{hash128(zeros), sha256(zeros)});
    const auto at = static_cast<std::size_t>(leaf - known_.leaves.first);
    return known_.leaves.sha256.empty() ? known_.leaves.xxh3[at] == whole_->xxh3
                                        : known_.leaves.sha256[at] == whole_->sha256;
  }

  struct Known {
    std::uint32_t segment = kNoSegment;
    std::uint64_t page = 0;
    bool good = false;
    Leaves leaves;
  };
  struct Whole {  // the hashes of 64 KiB of zeros
    Hash128 xxh3;
    DiskSha256 sha256;
  };

  const mapping::OsFile& file_;
  const Toc& toc_;
  const LookFor look_for_;
  const mapping::AfterPiece& after_;
  AbsentLeaves& absent_;
  const std::vector<std::byte> zeros_;
  std::vector<std::byte> bytes_;
  std::vector<ByteRange> holes_;
  Known known_;
  std::optional<Whole> whole_;
};

Result<AbsentLeaves> AbsentLeaves::find(const mapping::OsFile& file, const Toc& toc, LookFor look_for,
                                        const mapping::AfterPiece& after) {
  AbsentLeaves absent(toc);
  FATCTX_TRY(Finder(file, toc, look_for, after, absent).run());
  return absent;
}

std::uint64_t AbsentLeaves::size_of(std::uint32_t segment, LeafRange leaves) const noexcept {
  const std::uint64_t size = toc_->segments[segment].size;
  return std::min(leaves.end << kLeafLog2, size) - std::min(leaves.first << kLeafLog2, size);
}

void AbsentLeaves::add(std::uint32_t segment, LeafRange leaves) {
  std::vector<Run>& runs = payload_[segment];
  if (!runs.empty() && runs.back().leaves.end == leaves.first) {
    runs.back().leaves.end = leaves.end;
    return;
  }
  const std::uint64_t before = runs.empty() ? 0 : runs.back().bytes_before + size_of(segment, runs.back().leaves);
  runs.push_back({leaves, before});
}

std::vector<ByteRange> AbsentLeaves::ranges() const {
  std::vector<ByteRange> ranges = hashes_;
  for (const auto& [segment, runs] : payload_) {
    for (const Run& run : runs) {
      ranges.push_back(
          {toc_->segments[segment].offset + (run.leaves.first << kLeafLog2), size_of(segment, run.leaves)});
    }
  }
  sort_by_place(ranges);
  return joined(ranges);
}

std::vector<ByteRange> AbsentLeaves::hash_places_of(const std::vector<SegmentLeaves>& leaves) const {
  std::vector<ByteRange> places;
  for (const SegmentLeaves& run : leaves) {
    for (const LeafHash which : algorithms_of(*toc_)) {
      const std::vector<ByteRange> more = places_of_leaf_hashes(*toc_, run.segment, which, run.range);
      places.insert(places.end(), more.begin(), more.end());
    }
  }
  sort_by_place(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

bool AbsentLeaves::is_absent(ByteRange hash_place) const {
  return std::binary_search(hashes_.begin(), hashes_.end(), hash_place,
                            [](ByteRange a, ByteRange b) { return a.offset < b.offset; });
}

std::vector<ByteRange> AbsentLeaves::ranges_of(const RecordInfo& record) const {
  const std::vector<SegmentLeaves> leaves = leaves_under(*toc_, record);
  std::vector<ByteRange> ranges;
  for (const ByteRange& place : hash_places_of(leaves)) {
    if (is_absent(place)) ranges.push_back(place);
  }
  for (const SegmentLeaves& wanted : leaves) {
    const auto found = payload_.find(wanted.segment);
    if (found == payload_.end()) continue;
    const std::vector<Run>& runs = found->second;
    auto run = std::partition_point(runs.begin(), runs.end(),
                                    [&](const Run& one) { return one.leaves.end <= wanted.range.first; });
    for (; run != runs.end() && run->leaves.first < wanted.range.end; ++run) {
      const LeafRange both{std::max(run->leaves.first, wanted.range.first),
                           std::min(run->leaves.end, wanted.range.end)};
      ranges.push_back(
          {toc_->segments[wanted.segment].offset + (both.first << kLeafLog2), size_of(wanted.segment, both)});
    }
  }
  sort_by_place(ranges);
  return joined(ranges);
}

// Returns the absent bytes of a segment in front of a leaf.
std::uint64_t AbsentLeaves::bytes_before(std::uint32_t segment, std::uint64_t leaf) const {
  const auto found = payload_.find(segment);
  if (found == payload_.end()) return 0;
  const std::vector<Run>& runs = found->second;
  const auto behind =
      std::partition_point(runs.begin(), runs.end(), [&](const Run& run) { return run.leaves.first < leaf; });
  if (behind == runs.begin()) return 0;
  const Run& run = *std::prev(behind);
  return run.bytes_before + size_of(segment, {run.leaves.first, std::min(run.leaves.end, leaf)});
}

std::uint64_t AbsentLeaves::bytes_of(const RecordInfo& record) const {
  if (none()) return 0;
  const std::vector<SegmentLeaves> leaves = leaves_under(*toc_, record);
  std::uint64_t bytes = 0;
  for (const ByteRange& place : hash_places_of(leaves)) bytes += is_absent(place) ? place.size : 0;
  for (const SegmentLeaves& run : leaves) {
    bytes += bytes_before(run.segment, run.range.end) - bytes_before(run.segment, run.range.first);
  }
  return bytes;
}

std::uint64_t AbsentLeaves::needed_bytes_of(const RecordInfo& record) const {
  const std::vector<SegmentLeaves> leaves = leaves_under(*toc_, record);
  std::uint64_t bytes = 0;
  for (const ByteRange& place : hash_places_of(leaves)) bytes += place.size;
  for (const SegmentLeaves& run : leaves) bytes += size_of(run.segment, run.range);
  return bytes;
}

}  // namespace fatctx::container
