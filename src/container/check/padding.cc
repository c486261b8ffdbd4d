#include "container/check/padding.h"

#include <algorithm>
#include <span>

#include "container/format/copy_out.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kLookedAtOnce = std::uint64_t{256} << 10;

bool may_have_padding(const OpenedToc& container, const Segment& segment) {
  return segment.kind == SegmentKind::kPacked && segment.generation == container.header.generation;
}

}  // namespace

std::vector<ByteRange> padding_behind_header(const OpenedToc& container, PaddingOf of) {
  std::vector<ByteRange> used;
  for (const std::uint64_t offset : container.header.toc_offset) used.push_back({offset, container.header.toc_size});
  for (std::uint32_t i = 0; i < container.toc.segments.size(); ++i) {
    const Segment& segment = container.toc.segments[i];
    if (of == PaddingOf::kFile || !may_have_padding(container, segment)) {
      used.push_back({segment.offset, segment.size});
      continue;
    }
    for (const Slice& slice : container.toc.slices) {
      if (slice.segment == i) used.push_back({segment.offset + slice.range.offset, slice.range.size});
    }
  }
  std::sort(used.begin(), used.end(), [](ByteRange a, ByteRange b) { return a.offset < b.offset; });
  std::vector<ByteRange> gaps;
  std::uint64_t end = container.header.form().size;
  for (const ByteRange one : used) {
    if (one.offset > end) gaps.push_back({end, one.offset - end});
    end = std::max(end, one.offset + one.size);
  }
  return gaps;
}

Result<std::optional<ByteRange>> first_not_zero(const mapping::OsFile& file, ByteRange range) {
  const auto is_not_zero = [](std::byte byte) { return byte != std::byte{0}; };
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(range.size, kLookedAtOnce)));
  for (std::uint64_t at = 0; at < range.size; at += buffer.size()) {
    const auto piece =
        std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), range.size - at)));
    FATCTX_TRY(file.read_at(range.offset + at, piece));
    if (all_zero(piece)) continue;
    const auto first = std::find_if(piece.begin(), piece.end(), is_not_zero);
    const auto last = std::find_if(piece.rbegin(), piece.rend(), is_not_zero).base();
    return std::optional(ByteRange{range.offset + at + static_cast<std::uint64_t>(first - piece.begin()),
                                   static_cast<std::uint64_t>(last - first)});
  }
  return std::optional<ByteRange>();
}

}  // namespace fatctx::container
