// An array in memory that is touched only where elements are used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "base/exceptions.h"

// Its macros do nothing without the address sanitizer.
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif

namespace fatctx {

// An array of `size()` places. An element exists once make() was called for its place; a caller must not read it
// before; the address sanitizer finds one that does. A large array takes address space first, and memory page by page.
// Threads: as a standard container; different places may be made and read on different threads.
template <typename T>
class RawArray {
  static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  RawArray() = default;
  // Makes no element. Throws std::bad_alloc.
  explicit RawArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    // Not calloc: it clears memory that was used before, and so touches all of it.
    if (size <= std::numeric_limits<std::size_t>::max() / sizeof(T)) {
      data_.reset(static_cast<T*>(std::malloc(size * sizeof(T))));
    }
    if (!data_) throw_out_of_memory();
    poison();
  }
  // Makes all elements, as copies.
  explicit RawArray(std::span<const T> from) : RawArray(from.size()) {
    unpoison();
    std::uninitialized_copy(from.begin(), from.end(), data_.get());
  }
  ~RawArray() { unpoison(); }
  RawArray(RawArray&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  RawArray& operator=(RawArray&& other) noexcept {
    if (this == &other) return *this;
    unpoison();
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  RawArray(const RawArray&) = delete;
  RawArray& operator=(const RawArray&) = delete;

  T& make(std::size_t at, const T& value = T()) {
    unpoison(at, 1);
    return *std::construct_at(data_.get() + at, value);
  }
  // Makes elements of bytes without setting them.
  std::span<T> make_for_overwrite(std::size_t at, std::size_t count) requires(sizeof(T) == 1) {
    unpoison(at, count);
    return {data_.get() + at, count};
  }

  // Requires: all elements of both are made.
  friend bool operator==(const RawArray& a, const RawArray& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T* data() noexcept { return data_.get(); }
  [[nodiscard]] const T* data() const noexcept { return data_.get(); }
  // A build that checks the indexes of standard containers checks these too, in the span.
  [[nodiscard]] T& operator[](std::size_t at) noexcept { return std::span<T>(data_.get(), size_)[at]; }
  [[nodiscard]] const T& operator[](std::size_t at) const noexcept {
    return std::span<const T>(data_.get(), size_)[at];
  }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size_; }
  [[nodiscard]] const T& front() const noexcept { return (*this)[0]; }
  [[nodiscard]] const T& back() const noexcept { return (*this)[size_ - 1]; }

 private:
  struct Free {
    void operator()(T* block) const noexcept { std::free(block); }
  };

  void poison() noexcept {
#if defined(ASAN_POISON_MEMORY_REGION)
    ASAN_POISON_MEMORY_REGION(data_.get(), size_ * sizeof(T));
#endif
  }
  void unpoison(std::size_t at, std::size_t count) noexcept {
#if defined(ASAN_UNPOISON_MEMORY_REGION)
    ASAN_UNPOISON_MEMORY_REGION(data_.get() + at, count * sizeof(T));
#else
    (void)at;
    (void)count;
#endif
  }
  void unpoison() noexcept {
    if (data_) unpoison(0, size_);
  }

  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace fatctx
