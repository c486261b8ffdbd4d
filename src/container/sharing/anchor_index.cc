#include "container/sharing/anchor_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "container/sharing/gear_scan.h"
#include "container/sharing/parallel.h"

namespace fatctx::container::sharing {
namespace {

constexpr std::uint64_t kAnchorUnit = std::uint64_t{4} << 20;
constexpr std::size_t kAddedTogether = 64;
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

namespace {

struct Anchor {
  std::uint64_t rolling = 0;
  std::uint64_t end = 0;  // of its window, as an offset in the bytes
};

// Collects the anchors whose windows end in the unit; a window may begin in front of it.
Status find_anchors(const RecordBytes& bytes, ByteRange unit, std::vector<Anchor>& anchors) {
  anchors.clear();
  const std::uint64_t from = unit.offset - std::min<std::uint64_t>(unit.offset, kGearWindow);
  std::vector<std::byte> buffer(static_cast<std::size_t>(unit.offset + unit.size - from));
  FATCTX_TRY(bytes.read_at(from, buffer));
  std::uint64_t last = unit.offset;  // end of the last anchor
  const auto take = [&](std::uint64_t rolling, std::size_t at, bool forced) {
    const bool same = constant(ByteView(buffer).subspan(at - kGearWindow, kGearWindow));
    if (!same) anchors.push_back({rolling, from + at});
    if (!same || forced) last = from + at;
  };
  // Sets the anchors in front of `end` that no bytes ask for.
  const auto force = [&](std::uint64_t end) {
    while (last + kMaxAnchorGap < end) {
      const auto at = static_cast<std::size_t>(last + kMaxAnchorGap - from);
      take(rolling_before(buffer, at), at, true);
    }
  };
  GearScan gear(kAnchorLog2);
  // The first window that ends in the unit, or the first one of all.
  const std::uint64_t least = std::max<std::uint64_t>(unit.offset + 1, kGearWindow);
  for (std::size_t first = static_cast<std::size_t>(least - from); first <= buffer.size(); first += kGearUnit) {
    for (const GearHit& hit : gear.find(buffer, first, std::min(first + kGearUnit - 1, buffer.size()))) {
      force(from + hit.end);
      take(hit.rolling, hit.end, from + hit.end == last + kMaxAnchorGap);
    }
  }
  force(from + buffer.size() + 1);
  return Done{};
}

}  // namespace

Status add_anchors(AnchorIndex& index, const RecordBytes& bytes, std::uint64_t place, unsigned threads) {
  // Looks up a few anchors before it adds them. Lookups do not depend on each other, so they wait for memory together.
  const auto add = [&](const std::vector<std::vector<Anchor>>& found) {
    std::array<bool, kAddedTogether> known = {};
    for (const std::vector<Anchor>& anchors : found) {
      for (std::size_t first = 0; first < anchors.size(); first += kAddedTogether) {
        const auto some = std::span(anchors).subspan(first, std::min(kAddedTogether, anchors.size() - first));
        for (std::size_t i = 0; i < some.size(); ++i) known[i] = index.find(some[i].rolling) != kNoPlace;
        for (std::size_t i = 0; i < some.size(); ++i) {
          if (!known[i]) index.add(some[i].rolling, place + some[i].end);
        }
      }
    }
  };
  // One thread adds the anchors of some units in their order while others find those of the next units.
  std::vector<std::vector<Anchor>> found;
  std::vector<std::vector<Anchor>> next(threads);
  for (std::uint64_t done = 0; done < bytes.size();) {
    const std::uint64_t left = (bytes.size() - done + kAnchorUnit - 1) / kAnchorUnit;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(threads, left));
    next.resize(count);
    FATCTX_TRY(for_each_index(threads, count + 1, [&](std::size_t at) -> Status {
      if (at == 0) {
        add(found);
        return Done{};
      }
      const std::uint64_t from = done + (at - 1) * kAnchorUnit;
      return find_anchors(bytes, {from, std::min(kAnchorUnit, bytes.size() - from)}, next[at - 1]);
    }));
    std::swap(found, next);
    done = std::min(bytes.size(), done + count * kAnchorUnit);
  }
  add(found);
  bytes.close();
  return Done{};
}

}  // namespace fatctx::container::sharing
