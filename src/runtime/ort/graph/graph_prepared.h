// A graph that was made from a packed one, once per process, and the weights that it adds to those of the container.
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"

namespace fatctx::ort {

inline constexpr std::size_t kWeightAlignment = 64;  // a vector of the widest kernels, and a cache line

// Allocates at addresses from which kernels read whole vectors.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() noexcept = default;
  template <typename U>
  explicit AlignedAllocator(const AlignedAllocator<U>& /*other*/) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kWeightAlignment}));
  }
  void deallocate(T* first, std::size_t /*count*/) noexcept {
    ::operator delete (first, std::align_val_t{kWeightAlignment});
  }
  friend bool operator==(const AlignedAllocator& /*a*/, const AlignedAllocator& /*b*/) noexcept { return true; }
};

using AlignedBytes = std::vector<std::byte, AlignedAllocator<std::byte>>;

// Returns the first aligned offset at or behind `size`.
[[nodiscard]] constexpr std::size_t next_weight_offset(std::size_t size) noexcept {
  return (size + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
}

// External data in memory.
struct DataFile {
  std::string location;
  ByteView bytes;
};

struct PreparedGraph {
  std::vector<std::byte> model;  // reads its new weights from the file below
  std::string location;
  AlignedBytes bytes;
};

}  // namespace fatctx::ort
