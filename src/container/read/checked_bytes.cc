#include "container/read/checked_bytes.h"

#include <algorithm>

#include <fmt/format.h>

namespace fatctx::container {
namespace {

constexpr std::size_t kHeldLeaves = 128;
constexpr std::uint64_t kSmallPart = kLeafSize / 4;  // a read of this part costs no more than hashing its leaf again
constexpr std::size_t kSegmentStep = 37;  // so that the first leaves of several segments use different entries

}  // namespace

Error damaged_bytes(std::uint64_t file_offset, std::uint64_t size) {
  return Error{ErrorCode::kChecksumMismatch,
               fmt::format("bytes {:#x} to {:#x} of the file are damaged", file_offset, file_offset + size),
               {.file_offset = file_offset, .rule = "F26"}};
}

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
    return damaged_bytes(of.offset + start, held.bytes.size());
  }
  good[static_cast<std::size_t>(leaf)] = true;
  held.segment = segment;
  held.leaf = leaf;
  return part_of(held.bytes);
}

Status CheckedBytes::read(ByteRange range, const StreamSink& sink) {
  const std::uint32_t segment = segments_.at(range.offset);
  std::uint64_t at = range.offset - toc_.segments[segment].offset;
  for (std::uint64_t left = range.size; left != 0;) {
    const std::uint64_t skipped = at & (kLeafSize - 1);
    const std::uint64_t size = std::min(left, kLeafSize - skipped);
    FATCTX_ASSIGN(const ByteView bytes, part(segment, at >> kLeafLog2, {skipped, size}));
    FATCTX_TRY(sink(bytes));
    at += size;
    left -= size;
  }
  return Done{};
}

Status CheckedBytes::read_into(std::uint64_t file_offset, std::span<std::byte> out) {
  auto at = out.begin();
  return read({file_offset, out.size()}, [&](ByteView bytes) -> Status {
    at = std::copy(bytes.begin(), bytes.end(), at);
    return Done{};
  });
}

}  // namespace fatctx::container
