#include "container/read/checked_bytes.h"

#include <algorithm>

#include "container/format/copy_out.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kHeldLeaves = 128;
constexpr std::uint64_t kSmallPart = kLeafSize / 4;  // a read of this part costs no more than hashing its leaf again
constexpr std::size_t kSegmentStep = 37;  // so that the first leaves of several segments use different entries

}  // namespace

CheckedBytes::CheckedBytes(const mapping::OsFile& file, const Toc& toc, WorkBudget budget, Again again)
    : file_(file),
      toc_(toc),
      segments_(toc),
      budget_(budget),
      again_(again),
      hashes_(file, toc, budget),
      held_(kHeldLeaves) {}

CheckedBytes::CheckedBytes(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record, WorkBudget budget)
    : file_(file),
      toc_(toc),
      segments_(toc, record),
      budget_(budget),
      again_(Again::kCompare),
      hashes_(file, toc, budget),
      held_(kHeldLeaves) {}

void CheckedBytes::rest() noexcept {
  for (Held& held : held_) held = Held();
}

Result<ByteView> CheckedBytes::part(std::uint32_t segment, std::uint64_t leaf, ByteRange in_leaf) {
  const auto part_of = [&](const std::vector<std::byte>& bytes) {
    return ByteView(bytes).subspan(static_cast<std::size_t>(in_leaf.offset), static_cast<std::size_t>(in_leaf.size));
  };
  Held& held = held_[static_cast<std::size_t>((leaf + segment * kSegmentStep) % kHeldLeaves)];
  if (held.segment == segment && held.leaf == leaf) return part_of(held.bytes);
  const Segment& of = toc_.segments[segment];
  const std::uint64_t start = leaf << kLeafLog2;
  std::vector<bool>& good = good_[segment];
  if (good.empty()) good.resize(static_cast<std::size_t>(of.leaf_count()));
  const bool little = again_ == Again::kTrust || in_leaf.size <= kSmallPart;
  if (good[static_cast<std::size_t>(leaf)] && little) {
    if (in_leaf.size < kLeastRead) FATCTX_TRY(budget_.make(kLeastRead - in_leaf.size));
    small_.resize(static_cast<std::size_t>(in_leaf.size));
    FATCTX_TRY(file_.read_at(of.offset + start + in_leaf.offset, small_));
    return ByteView(small_);
  }
  FATCTX_ASSIGN(const Leaves* leaves, hashes_.of(segment, leaf));
  held.segment = kNoSegment;  // stays so if the check fails
  held.bytes.resize(static_cast<std::size_t>(std::min(kLeafSize, of.size - start)));
  FATCTX_TRY(budget_.make(held.bytes.size() - in_leaf.size));
  FATCTX_TRY(file_.read_at(of.offset + start, held.bytes));
  if (!leaves->match(leaf, held.bytes)) {
    return leaf_error({of.offset + start, held.bytes.size()}, all_zero(held.bytes));
  }
  good[static_cast<std::size_t>(leaf)] = true;
  held.segment = segment;
  held.leaf = leaf;
  return part_of(held.bytes);
}

Status CheckedBytes::read(ByteRange range, const StreamSink& sink) {
  const std::uint32_t segment = segments_.at(range.offset);
  return read_in(segment, {range.offset - toc_.segments[segment].offset, range.size}, sink);
}

Status CheckedBytes::read_in(std::uint32_t segment, ByteRange in_segment, const StreamSink& sink) {
  std::uint64_t at = in_segment.offset;
  for (std::uint64_t left = in_segment.size; left != 0;) {
    const std::uint64_t skipped = at & (kLeafSize - 1);
    const std::uint64_t size = std::min(left, kLeafSize - skipped);
    FATCTX_ASSIGN(const ByteView bytes, part(segment, at >> kLeafLog2, {skipped, size}));
    FATCTX_TRY(sink(bytes));
    at += size;
    left -= size;
  }
  return Done{};
}

Status CheckedBytes::see(std::uint32_t segment, ByteRange in_segment, const mapping::Look& look,
                         const mapping::AfterPiece& after) {
  const Segment& of = toc_.segments[segment];
  const std::uint64_t end = in_segment.offset + in_segment.size;
  const std::uint64_t first_whole = (in_segment.offset + kLeafSize - 1) >> kLeafLog2;
  const std::uint64_t end_whole = end == of.size ? of.leaf_count() : end >> kLeafLog2;
  const auto take = [&](ByteView bytes) -> Status {
    look(bytes);
    return after(bytes.size());
  };
  if (first_whole >= end_whole) return read_in(segment, in_segment, take);
  const std::uint64_t before = (first_whole << kLeafLog2) - in_segment.offset;
  FATCTX_TRY(read_in(segment, {in_segment.offset, before}, take));
  for (std::uint64_t leaf = first_whole; leaf < end_whole;) {  // from leaf page to leaf page
    const std::uint64_t stop = std::min(end_whole, (leaf / kLeavesPerPage + 1) * kLeavesPerPage);
    FATCTX_ASSIGN(const Leaves* leaves, hashes_.of(segment, leaf));
    FATCTX_TRY(compare_leaves(
        file_, of, *leaves, {leaf, stop}, [&](std::uint64_t, ByteView bytes) { look(bytes); }, after));
    leaf = stop;
  }
  const std::uint64_t rest = std::min(end_whole << kLeafLog2, of.size);
  return read_in(segment, {rest, end > rest ? end - rest : 0}, take);
}

Status CheckedBytes::read_into(std::uint64_t file_offset, std::span<std::byte> out) {
  auto at = out.begin();
  return read({file_offset, out.size()}, [&](ByteView bytes) -> Status {
    at = std::copy(bytes.begin(), bytes.end(), at);
    return Done{};
  });
}

}  // namespace fatctx::container
