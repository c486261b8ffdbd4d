// The granules that are stored so far, found by hash. They are numbered in the order in which they were added. Two
// consecutive numbers are adjacent in the file if both belong to one extent.
#pragma once

#include <cstdint>
#include <vector>

namespace fatctx::container::sharing {

inline constexpr std::uint32_t kNoGranule = 0xffffffff;

// A run of stored granules that one segment holds.
struct StoreExtent {
  std::uint32_t store = 0;  // number of the segment, chosen by the caller
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  std::uint32_t last_size = 0;  // bytes of its last granule; zeros follow them in the file
};

// An index of stored granules by hash. Memory: about 50 bytes a granule.
class GranuleStore {
 public:
  explicit GranuleStore(std::uint32_t granule_size) : granule_size_(granule_size) {}

  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(hashes_.size()); }
  [[nodiscard]] std::uint64_t hash(std::uint32_t granule) const noexcept { return hashes_[granule]; }

  // Starts an extent in this store; later granules are added to it.
  void begin_extent(std::uint32_t store);
  // Adds a granule. `size` is less than the granule size only for the last one of an extent.
  void add(std::uint64_t hash, std::uint32_t size);
  // Removes the newest granule of the newest extent.
  void remove_last();
  // Removes every granule that was added since begin_extent().
  void clear_extent();

  [[nodiscard]] const StoreExtent& extent_of(std::uint32_t granule) const noexcept;
  [[nodiscard]] const StoreExtent& newest_extent() const noexcept { return extents_.back(); }
  // Returns how many of its bytes its segment holds.
  [[nodiscard]] std::uint32_t size_of(std::uint32_t granule) const noexcept {
    const StoreExtent& extent = extent_of(granule);
    return granule + 1 == extent.end ? extent.last_size : granule_size_;
  }

  // The oldest granule with this hash, then the next oldest; kNoGranule after the last.
  [[nodiscard]] std::uint32_t first_with(std::uint64_t hash) const noexcept;
  [[nodiscard]] std::uint32_t next_with(std::uint32_t granule) const noexcept { return next_[granule]; }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t head = kNoGranule;  // kNoGranule in a used slot: every granule with this hash was removed
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
