// The granules that are stored so far, found by hash. Numbered in the order in which they were added; a number and the
// one behind it lie side by side in the file as long as both belong to one extent.
#pragma once

#include <cstdint>
#include <vector>

namespace fatctx::container::sharing {

inline constexpr std::uint32_t kNoGranule = 0xffffffff;

// A run of stored granules that one segment holds.
struct StoreExtent {
  std::uint32_t store = 0;  // which segment, in the caller's numbers
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  std::uint32_t last_size = 0;  // bytes of its last granule; behind them zeros lie in the file
};

// About 50 bytes a granule.
class GranuleStore {
 public:
  explicit GranuleStore(std::uint32_t granule_size) : granule_size_(granule_size) {}

  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(hashes_.size()); }
  [[nodiscard]] std::uint64_t hash(std::uint32_t granule) const noexcept { return hashes_[granule]; }

  // From now on granules are added to this store.
  void begin_extent(std::uint32_t store);
  // `size` is less than a granule's for the last of an extent only.
  void add(std::uint64_t hash, std::uint32_t size);
  // Takes away the newest granule of the extent that was begun last.
  void remove_last();
  // Takes back all that was added since begin_extent().
  void clear_extent();

  [[nodiscard]] const StoreExtent& extent_of(std::uint32_t granule) const noexcept;
  [[nodiscard]] const StoreExtent& newest_extent() const noexcept { return extents_.back(); }
  // Bytes of it that are in its segment.
  [[nodiscard]] std::uint32_t size_of(std::uint32_t granule) const noexcept {
    const StoreExtent& extent = extent_of(granule);
    return granule + 1 == extent.end ? extent.last_size : granule_size_;
  }

  // The oldest granule with this hash, then the next oldest; kNoGranule behind the last.
  [[nodiscard]] std::uint32_t first_with(std::uint64_t hash) const noexcept;
  [[nodiscard]] std::uint32_t next_with(std::uint32_t granule) const noexcept { return next_[granule]; }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t head = kNoGranule;  // kNoGranule in a used slot: all granules with this hash were taken away again
    std::uint32_t tail = kNoGranule;
    bool used = false;
  };

  [[nodiscard]] std::size_t slot_of(std::uint64_t hash) const noexcept;
  void grow();

  std::uint32_t granule_size_;
  std::vector<StoreExtent> extents_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> previous_;
  std::vector<Slot> slots_;  // open addressing, a power of two
  std::size_t used_slots_ = 0;
};

}  // namespace fatctx::container::sharing
