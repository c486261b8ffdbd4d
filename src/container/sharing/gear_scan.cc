#include "container/sharing/gear_scan.h"

namespace fatctx::container::sharing {
namespace {

// Returns the rolling value of all bytes of the window but the last one.
std::uint64_t warm_up(ByteView bytes, std::size_t end) noexcept {
  std::uint64_t rolling = 0;
  for (std::size_t at = end - kGearWindow; at + 1 < end; ++at) rolling = roll(rolling, bytes[at]);
  return rolling;
}

}  // namespace

std::uint64_t rolling_before(ByteView bytes, std::size_t end) noexcept {
  return roll(warm_up(bytes, end), bytes[end - 1]);
}

std::span<const GearHit> GearScan::find(ByteView bytes, std::size_t first, std::size_t last) {
  const std::size_t length = (last - first + 1) / kStretches;
  const std::uint64_t limit = limit_;
  for (std::vector<GearHit>& hits : hits_) hits.clear();
  const std::size_t rest = first + kStretches * length;
  if (length != 0) {
    // Variables of their own, and not an array, so that they stay in registers.
    const std::size_t second = first + length;
    const std::size_t third = second + length;
    const std::size_t fourth = third + length;
    std::uint64_t a = warm_up(bytes, first);
    std::uint64_t b = warm_up(bytes, second);
    std::uint64_t c = warm_up(bytes, third);
    std::uint64_t d = warm_up(bytes, fourth);
    const std::byte* const next = bytes.data() + (first - 1);  // the last byte of the first window
    for (std::size_t i = 0; i < length; ++i) {
      a = roll(a, next[i]);
      b = roll(b, next[i + length]);
      c = roll(c, next[i + 2 * length]);
      d = roll(d, next[i + 3 * length]);
      if (a < limit) [[unlikely]]
        hits_[0].push_back({a, first + i});
      if (b < limit) [[unlikely]]
        hits_[1].push_back({b, second + i});
      if (c < limit) [[unlikely]]
        hits_[2].push_back({c, third + i});
      if (d < limit) [[unlikely]]
        hits_[3].push_back({d, fourth + i});
    }
  }
  if (rest <= last) {
    std::uint64_t rolling = warm_up(bytes, rest);
    for (std::size_t end = rest; end <= last; ++end) {
      rolling = roll(rolling, bytes[end - 1]);
      if (rolling < limit) hits_[3].push_back({rolling, end});
    }
  }
  for (std::size_t s = 1; s < kStretches; ++s) hits_[0].insert(hits_[0].end(), hits_[s].begin(), hits_[s].end());
  return hits_[0];
}

}  // namespace fatctx::container::sharing
