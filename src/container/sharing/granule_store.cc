#include "container/sharing/granule_store.h"

#include <algorithm>

namespace fatctx::container::sharing {
namespace {

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

void GranuleStore::begin_extent(std::uint32_t store) {
  extents_.push_back({.store = store, .first = count(), .end = count(), .last_size = 0});
}

void GranuleStore::add(std::uint64_t hash, std::uint32_t size) {
  if (2 * (used_slots_ + 1) > slots_.size()) grow();
  const std::uint32_t granule = count();
  hashes_.push_back(hash);
  next_.push_back(kNoGranule);
  Slot& slot = slots_[slot_of(hash)];
  if (!slot.used) {
    slot.used = true;
    slot.hash = hash;
    ++used_slots_;
  }
  previous_.push_back(slot.tail);
  if (slot.tail == kNoGranule) {
    slot.head = granule;
  } else {
    next_[slot.tail] = granule;
  }
  slot.tail = granule;
  extents_.back().end = granule + 1;
  extents_.back().last_size = size;
}

void GranuleStore::remove_last() {
  const std::uint32_t granule = count() - 1;
  Slot& slot = slots_[slot_of(hashes_[granule])];
  slot.tail = previous_[granule];  // the newest granule is also the newest with its hash
  if (slot.tail == kNoGranule) {
    slot.head = kNoGranule;
  } else {
    next_[slot.tail] = kNoGranule;
  }
  hashes_.pop_back();
  next_.pop_back();
  previous_.pop_back();
  extents_.back().end = granule;
  extents_.back().last_size = granule_size_;  // only the last granule of a record is short, and none follows it
}

void GranuleStore::clear_extent() {
  while (extents_.back().end > extents_.back().first) remove_last();
}

const StoreExtent& GranuleStore::extent_of(std::uint32_t granule) const noexcept {
  // Extents without granules have the same first number as the one behind them, which is the right one.
  const auto behind = std::upper_bound(extents_.begin(), extents_.end(), granule,
                                       [](std::uint32_t at, const StoreExtent& extent) { return at < extent.first; });
  return *(behind - 1);
}

std::uint32_t GranuleStore::first_with(std::uint64_t hash) const noexcept {
  if (slots_.empty()) return kNoGranule;
  const Slot& slot = slots_[slot_of(hash)];
  return slot.used ? slot.head : kNoGranule;
}

std::size_t GranuleStore::slot_of(std::uint64_t hash) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::size_t>(hash * 0x9e3779b97f4a7c15 >> 20) & mask;
  while (slots_[at].used && slots_[at].hash != hash) at = (at + 1) & mask;
  return at;
}

void GranuleStore::grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(std::max(kFirstSlots, old.size() * 2), Slot());
  for (const Slot& slot : old) {
    if (slot.used) slots_[slot_of(slot.hash)] = slot;
  }
}

}  // namespace fatctx::container::sharing
