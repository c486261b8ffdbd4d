// An array whose elements come into being in blocks, when they are first used.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

namespace fatctx {

// Elements keep their place until the array is destroyed.
// Threads: every member from any number of threads; elements look after themselves.
template <typename T>
class BlockArray {
 public:
  explicit BlockArray(std::size_t size)
      : count_((size + kBlock - 1) / kBlock), blocks_(std::make_unique<std::atomic<Block*>[]>(count_)) {}
  ~BlockArray() {
    for (std::size_t i = 0; i < count_; ++i) delete blocks_[i].load(std::memory_order_relaxed);
  }
  BlockArray(const BlockArray&) = delete;
  BlockArray& operator=(const BlockArray&) = delete;

  // Returns an element, and makes its block if there is none. Requires: index < size.
  [[nodiscard]] T& at(std::size_t index) {
    std::atomic<Block*>& place = blocks_[index / kBlock];
    Block* block = place.load(std::memory_order_acquire);
    if (block == nullptr) {
      auto fresh = std::make_unique<Block>();
      // If another thread was first, `block` is now that thread's, and ours is dropped.
      if (place.compare_exchange_strong(block, fresh.get(), std::memory_order_acq_rel)) block = fresh.release();
    }
    return (*block)[index % kBlock];
  }
  // Returns an element, or null if its block was never made. Requires: index < size.
  [[nodiscard]] const T* find(std::size_t index) const noexcept {
    const Block* block = blocks_[index / kBlock].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : &(*block)[index % kBlock];
  }

 private:
  static constexpr std::size_t kBlock = 64;
  using Block = std::array<T, kBlock>;

  std::size_t count_;
  std::unique_ptr<std::atomic<Block*>[]> blocks_;
};

}  // namespace fatctx
