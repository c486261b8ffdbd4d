#include "container/format/byte_set.h"

#include <algorithm>
#include <iterator>

namespace fatctx::container {

void ByteSet::add(ByteRange range) {
  if (range.size == 0) return;
  std::uint64_t first = range.offset;
  std::uint64_t end = range.offset + range.size;
  auto next = ends_.upper_bound(first);
  if (next != ends_.begin() && std::prev(next)->second >= first) --next;
  while (next != ends_.end() && next->first <= end) {
    first = std::min(first, next->first);
    end = std::max(end, next->second);
    bytes_ -= next->second - next->first;
    next = ends_.erase(next);
  }
  ends_.emplace(first, end);
  bytes_ += end - first;
}

void ByteSet::remove(ByteRange range) {
  const std::uint64_t end = range.offset + range.size;
  for (const ByteRange& part : within(range)) {
    const auto found = std::prev(ends_.upper_bound(part.offset));
    const std::uint64_t first_before = found->first;
    const std::uint64_t end_before = found->second;
    ends_.erase(found);
    if (first_before < part.offset) ends_.emplace(first_before, part.offset);
    if (end < end_before) ends_.emplace(end, end_before);
    bytes_ -= part.size;
  }
}

bool ByteSet::contains(std::uint64_t offset) const noexcept {
  const auto next = ends_.upper_bound(offset);
  return next != ends_.begin() && std::prev(next)->second > offset;
}

std::vector<ByteRange> ByteSet::ranges() const {
  std::vector<ByteRange> ranges;
  ranges.reserve(ends_.size());
  for (const auto& [first, end] : ends_) ranges.push_back({first, end - first});
  return ranges;
}

std::vector<ByteRange> ByteSet::within(ByteRange range) const {
  std::vector<ByteRange> parts;
  const std::uint64_t end = range.offset + range.size;
  auto next = ends_.upper_bound(range.offset);
  if (next != ends_.begin()) --next;
  for (; next != ends_.end() && next->first < end; ++next) {
    const std::uint64_t from = std::max(next->first, range.offset);
    const std::uint64_t to = std::min(next->second, end);
    if (from < to) parts.push_back({from, to - from});
  }
  return parts;
}

std::vector<ByteRange> joined_over(const std::vector<ByteRange>& ranges, std::uint64_t gap) {
  std::vector<ByteRange> joined;
  for (const ByteRange& range : ranges) {
    if (!joined.empty() && range.offset - (joined.back().offset + joined.back().size) <= gap) {
      joined.back().size = range.offset + range.size - joined.back().offset;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

}  // namespace fatctx::container
