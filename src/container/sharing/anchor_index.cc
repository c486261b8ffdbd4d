#include "container/sharing/anchor_index.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "container/sharing/gear.h"

namespace fatctx::container::sharing {
namespace {

constexpr std::size_t kReadUnit = std::size_t{1} << 20;
constexpr unsigned kFirstLog2 = 10;
constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;  // the low bits of a rolling value depend on few bytes

}  // namespace

std::size_t AnchorIndex::slot_of(std::uint64_t rolling) const noexcept {
  auto at = static_cast<std::size_t>(rolling * kSpread >> (64 - log2_));
  while (slots_[at].place != kNoPlace && slots_[at].rolling != rolling) at = (at + 1) & (slots_.size() - 1);
  return at;
}

std::uint64_t AnchorIndex::find(std::uint64_t rolling) const noexcept {
  return slots_.empty() ? kNoPlace : slots_[slot_of(rolling)].place;
}

void AnchorIndex::grow() {
  log2_ = log2_ == 0 ? kFirstLog2 : log2_ + 1;
  std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(std::size_t{1} << log2_));
  for (const Slot& slot : before) {
    if (slot.place != kNoPlace) slots_[slot_of(slot.rolling)] = slot;
  }
}

void AnchorIndex::add(std::uint64_t rolling, std::uint64_t place) {
  if (used_ >= slots_.size() / 10 * 7) grow();
  Slot& slot = slots_[slot_of(rolling)];
  if (slot.place != kNoPlace) return;
  slot = {rolling, place};
  ++used_;
}

bool constant(ByteView bytes) noexcept { return std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0; }

Status add_anchors(AnchorIndex& index, const RecordBytes& bytes, std::uint64_t place) {
  std::vector<std::byte> buffer;
  std::uint64_t rolling = 0;
  std::uint64_t last = 0;  // anchor
  std::size_t kept = 0;    // of the bytes before, so that a whole window is there
  for (std::uint64_t at = 0; at < bytes.size();) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kReadUnit, bytes.size() - at));
    buffer.resize(kept + size);
    FATCTX_TRY(bytes.read_at(at, std::span(buffer).subspan(kept)));
    for (std::size_t i = kept; i < buffer.size(); ++i) {
      rolling = roll(rolling, buffer[i]);
      const std::uint64_t end = at + (i - kept) + 1;
      const bool anchor = (rolling & kAnchorMask) == 0;
      const bool forced = end - last >= kMaxAnchorGap;
      if ((!anchor && !forced) || end < kGearWindow) continue;
      const bool same = constant(ByteView(buffer).subspan(i + 1 - kGearWindow, kGearWindow));
      if (!same) index.add(rolling, place + end);
      if (!same || forced) last = end;
    }
    at += size;
    kept = std::min(buffer.size(), kGearWindow);
    std::memmove(buffer.data(), buffer.data() + buffer.size() - kept, kept);
  }
  bytes.close();
  return Done{};
}

}  // namespace fatctx::container::sharing
