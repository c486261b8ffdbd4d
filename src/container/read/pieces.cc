#include "container/read/pieces.h"

#include <algorithm>
#include <span>

namespace fatctx::container {
namespace {

std::span<const Slice> slices_of(const Toc& toc, const RecordInfo& record) {
  return std::span<const Slice>(toc.slices).subspan(toc.forms[toc.index_of(record)].first_slice, record.slice_count);
}

}  // namespace

std::vector<Piece> pieces_of(const Toc& toc, const RecordInfo& record) {
  std::vector<Piece> pieces;
  if (record.recipe) return pieces;
  std::uint64_t at = 0;
  for (const Slice& slice : slices_of(toc, record)) {
    const ByteRange range = toc.in_file(slice);
    if (!pieces.empty() && pieces.back().in_file.offset + pieces.back().in_file.size == range.offset) {
      pieces.back().in_file.size += range.size;
    } else {
      pieces.push_back({at, range});
    }
    at += range.size;
  }
  return pieces;
}

std::vector<ByteRange> slices_in_file(const Toc& toc, const RecordInfo& record) {
  std::vector<ByteRange> ranges;
  for (const Slice& slice : slices_of(toc, record)) ranges.push_back(toc.in_file(slice));
  return ranges;
}

std::uint64_t place_in_file(const Toc& toc, const RecordInfo& record, std::uint64_t offset_in_record) {
  if (record.recipe) return record.file_offset;
  std::uint64_t left = offset_in_record;
  std::uint64_t place = record.file_offset + left;
  for (const Slice& slice : slices_of(toc, record)) {
    const ByteRange range = toc.in_file(slice);
    place = range.offset + left;
    if (left < range.size) break;
    left -= range.size;
    place = range.offset + range.size + left;
  }
  return place;
}

ByteRange behind_last_granule(const Toc& toc, const RecordInfo& record, std::uint8_t granule_log2) {
  if (record.slice_count < 2 || record.recipe) return {};
  const ByteRange last = toc.in_file(slices_of(toc, record).back());
  const std::uint64_t mask = (std::uint64_t{1} << granule_log2) - 1;
  const std::uint64_t end = last.offset + last.size;
  return {end, ((end + mask) & ~mask) - end};  // at most 2^47 (F22): cannot wrap
}

SegmentFinder::SegmentFinder(const Toc& toc, const RecordInfo& record) : toc_(toc) {
  const auto before = [&](std::uint32_t a, std::uint32_t b) { return toc.segments[a].offset < toc.segments[b].offset; };
  for (const Slice& slice : slices_of(toc, record)) segments_.push_back(slice.segment);
  if (!std::is_sorted(segments_.begin(), segments_.end(), before)) {
    std::sort(segments_.begin(), segments_.end(), before);
  }
  segments_.erase(std::unique(segments_.begin(), segments_.end()), segments_.end());
}

std::uint32_t SegmentFinder::at(std::uint64_t file_offset) const noexcept {
  if (all_) {
    const auto next = std::upper_bound(toc_.segments.begin(), toc_.segments.end(), file_offset,
                                       [](std::uint64_t at, const Segment& segment) { return at < segment.offset; });
    return static_cast<std::uint32_t>(next - toc_.segments.begin() - 1);
  }
  const auto next =
      std::upper_bound(segments_.begin(), segments_.end(), file_offset,
                       [&](std::uint64_t at, std::uint32_t segment) { return at < toc_.segments[segment].offset; });
  return *(next - 1);
}

}  // namespace fatctx::container
