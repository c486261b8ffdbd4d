#include "tools/http/asked_ranges.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fatctx::tools {
namespace {

std::uint64_t end_of(ByteRange range) noexcept { return range.offset + range.size; }

// Returns the bytes of a range that are in `ranges`, ascending.
std::vector<ByteRange> parts_in(const std::vector<ByteRange>& ranges, ByteRange range) {
  std::vector<ByteRange> parts;
  for (const ByteRange& one : ranges) {
    const std::uint64_t first = std::max(one.offset, range.offset);
    const std::uint64_t end = std::min(end_of(one), end_of(range));
    if (first < end) parts.push_back({first, end - first});
  }
  return parts;
}

}  // namespace

Status AskedRanges::check(ByteRange range) const {
  const std::vector<ByteRange> parts = parts_in(asked_, range);
  bool fits = !parts.empty() && parts.front().offset == range.offset && end_of(parts.back()) == end_of(range);
  for (std::size_t i = 1; fits && i < parts.size(); ++i) {
    fits = parts[i].offset - end_of(parts[i - 1]) <= kMostBetween;
  }
  if (!fits) {
    return Error{ErrorCode::kIo,
                 fmt::format("the server sends other bytes than asked for: {}-{}", range.offset, end_of(range) - 1)};
  }
  if (parts_in(missing_, range) == parts) return Done{};
  return Error{ErrorCode::kIo, fmt::format("the server sends bytes twice in one answer: {}-{} brings some that came",
                                           range.offset, end_of(range) - 1)};
}

Status AskedRanges::take(std::uint64_t offset, ByteView bytes, const TakeBytes& take) {
  const ByteRange given{offset, bytes.size()};
  const std::vector<ByteRange> parts = parts_in(missing_, given);
  std::vector<ByteRange> left;
  for (const ByteRange& one : missing_) {
    if (one.offset < offset) left.push_back({one.offset, std::min(end_of(one), offset) - one.offset});
    const std::uint64_t behind = std::max(one.offset, end_of(given));
    if (behind < end_of(one)) left.push_back({behind, end_of(one) - behind});
  }
  missing_ = std::move(left);
  for (const ByteRange& part : parts) {
    FATCTX_TRY(take(part.offset, bytes.subspan(static_cast<std::size_t>(part.offset - offset),
                                               static_cast<std::size_t>(part.size))));
  }
  return Done{};
}

}  // namespace fatctx::tools
