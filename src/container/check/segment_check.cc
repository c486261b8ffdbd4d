#include "container/check/segment_check.h"

#include <algorithm>
#include <utility>

#include "container/format/copy_out.h"
#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "container/sharing/parallel.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kLeastSplit = std::uint64_t{16} << 20;  // smaller segments are not divided
constexpr std::uint64_t kPartsPerThread = 4;

// A unit of work for one thread: leaves of a segment, or its whole hash, or both in one pass over the bytes.
struct Part {
  std::size_t work = 0;
  LeafRange leaves;
  bool whole_hash = false;
};

std::uint64_t bytes_of(const Segment& segment, LeafRange leaves) {
  return std::min(leaves.end << kLeafLog2, segment.size) - std::min(leaves.first << kLeafLog2, segment.size);
}

class Checker {
 public:
  Checker(const mapping::OsFile& file, const Toc& toc, std::span<const SegmentWork> work, LeafHash which,
          WorkProgress& progress)
      : file_(file), toc_(toc), work_(work), which_(which), progress_(progress) {}

  Result<std::vector<SegmentOutcome>> run(unsigned threads) {
    divide(threads);
    parts_outcomes_.resize(parts_.size());
    FATCTX_TRY(sharing::for_each_index(
        threads, parts_.size(), [this](std::size_t index) { return check(parts_[index], parts_outcomes_[index]); },
        [this] { (void)progress_.go_on(); }));
    return joined();
  }

 private:
  // Divides a segment that is a large part of the work among several threads. Its whole hash cannot be divided and
  // takes the longest, so it comes first.
  void divide(unsigned threads) {
    std::uint64_t total = 0;
    for (const SegmentWork& work : work_) total += bytes_of(toc_.segments[work.segment], work.leaves);
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const SegmentWork& work = work_[i];
      const std::uint64_t size = bytes_of(toc_.segments[work.segment], work.leaves);
      if (threads < 2 || size < kLeastSplit || size <= total / (std::uint64_t{2} * threads)) {
        parts_.push_back({i, work.leaves, work.whole_hash});
        continue;
      }
      if (work.whole_hash) parts_.push_back({i, {}, true});
      const std::uint64_t leaves = work.leaves.end - work.leaves.first;
      const std::uint64_t each = std::max<std::uint64_t>(leaves / (threads * kPartsPerThread), 1);
      for (std::uint64_t first = work.leaves.first; first < work.leaves.end; first += each) {
        parts_.push_back({i, {first, std::min(first + each, work.leaves.end)}, false});
      }
    }
  }

  Status check(const Part& part, SegmentOutcome& outcome) {
    const Segment& segment = toc_.segments[work_[part.work].segment];
    if (part.leaves.first == part.leaves.end) {
      const bool leaves = segment.kind == SegmentKind::kLeaves;  // which has an XXH3 only, in every table
      FATCTX_TRY(hash_whole(segment, !leaves && which_ != LeafHash::kXxh3, outcome));
      return leaves ? progress_.add(segment.size) : Status(Done{});
    }
    auto leaves = read_leaves(file_, toc_, segment, which_, part.leaves);
    if (!leaves.ok()) {
      const ErrorCode code = leaves.error().code;
      if (code != ErrorCode::kChecksumMismatch && code != ErrorCode::kTruncated && code != ErrorCode::kNotPresent) {
        return std::move(leaves).error();
      }
      outcome.leaves_damaged = std::move(leaves).error();
      return code == ErrorCode::kNotPresent ? find_zeros(segment, part.leaves, outcome) : Done{};
    }
    Hasher whole;
    Sha256 whole_sha256;
    const bool sha256_too = part.whole_hash && which_ != LeafHash::kXxh3;
    const auto look = [&](std::uint64_t leaf, ByteView bytes, bool good) {
      if (!good) add_leaf(all_zero(bytes) ? outcome.absent : outcome.damaged, leaf);
      if (part.whole_hash) whole.update(bytes);
      if (sha256_too) whole_sha256.update(bytes);
    };
    FATCTX_TRY(look_at_leaves(file_, segment, leaves.value(), part.leaves, look,
                              [this](std::uint64_t size) { return progress_.add(size); }));
    if (part.whole_hash) outcome.hash = whole.digest();
    if (sha256_too) outcome.sha256 = whole_sha256.digest();
    return Done{};
  }

  // Counts zeros as absent where the leaf hashes are absent too.
  Status find_zeros(const Segment& segment, LeafRange leaves, SegmentOutcome& outcome) {
    const auto look = [&](std::uint64_t leaf, ByteView bytes, bool) {
      if (all_zero(bytes)) add_leaf(outcome.absent, leaf);
    };
    return look_at_leaves(file_, segment, {}, leaves, look, [this](std::uint64_t size) { return progress_.add(size); });
  }

  Status hash_whole(const Segment& segment, bool sha256_too, SegmentOutcome& outcome) {
    Hasher hasher;
    Sha256 sha256;
    const auto look = [&](ByteView bytes) {
      hasher.update(bytes);
      if (sha256_too) sha256.update(bytes);
    };
    FATCTX_TRY(mapping::look_through(file_, {segment.offset, segment.size}, look,
                                     [this](std::uint64_t) { return progress_.go_on(); }));
    outcome.hash = hasher.digest();
    if (sha256_too) outcome.sha256 = sha256.digest();
    return Done{};
  }

  static void add_leaf(std::vector<LeafRange>& leaves, std::uint64_t leaf) {
    if (!leaves.empty() && leaves.back().end == leaf) {
      ++leaves.back().end;
    } else {
      leaves.push_back({leaf, leaf + 1});
    }
  }

  static void add_ranges(std::vector<LeafRange>& to, const std::vector<LeafRange>& from) {
    for (const LeafRange range : from) {
      if (!to.empty() && to.back().end == range.first) {
        to.back().end = range.end;
      } else {
        to.push_back(range);
      }
    }
  }

  std::vector<SegmentOutcome> joined() {
    std::vector<SegmentOutcome> outcomes(work_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      SegmentOutcome& to = outcomes[parts_[i].work];
      SegmentOutcome& from = parts_outcomes_[i];
      if (from.leaves_damaged) to.leaves_damaged = std::move(from.leaves_damaged);
      if (from.hash) to.hash = from.hash;
      if (from.sha256) to.sha256 = from.sha256;
      add_ranges(to.damaged, from.damaged);
      add_ranges(to.absent, from.absent);
    }
    return outcomes;
  }

  const mapping::OsFile& file_;
  const Toc& toc_;
  const std::span<const SegmentWork> work_;
  const LeafHash which_;
  WorkProgress& progress_;
  std::vector<Part> parts_;
  std::vector<SegmentOutcome> parts_outcomes_;
};

}  // namespace

Result<std::vector<SegmentOutcome>> check_segments(const mapping::OsFile& file, const Toc& toc,
                                                   std::span<const SegmentWork> work, LeafHash which, unsigned threads,
                                                   WorkProgress& progress) {
  return Checker(file, toc, work, which, progress).run(threads);
}

}  // namespace fatctx::container
