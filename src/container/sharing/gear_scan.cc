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
  std::array<std::uint64_t, kStretches> rolling = {};
  std::array<const std::byte*, kStretches> next = {};  // the last byte of the first window of each stretch
  for (std::size_t s = 0; s < kStretches; ++s) {
    hits_[s].clear();
    rolling[s] = warm_up(bytes, first + s * length);
    next[s] = bytes.data() + (first + s * length - 1);
  }
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t s = 0; s < kStretches; ++s) {
      rolling[s] = roll(rolling[s], next[s][i]);
      if (rolling[s] < limit) [[unlikely]]
        hits_[s].push_back({rolling[s], first + s * length + i});
    }
  }
  std::uint64_t value = rolling.back();
  if (length == 0) value = warm_up(bytes, first);
  for (std::size_t end = first + kStretches * length; end <= last; ++end) {
    value = roll(value, bytes[end - 1]);
    if (value < limit) hits_.back().push_back({value, end});
  }
  for (std::size_t s = 1; s < kStretches; ++s) hits_[0].insert(hits_[0].end(), hits_[s].begin(), hits_[s].end());
  return hits_[0];
}

}  // namespace fatctx::container::sharing
