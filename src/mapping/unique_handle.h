// An owner of a Win32 handle, and the number that replaces a POSIX descriptor. For the _win32.cc files.
#pragma once

#include <cstdint>
#include <utility>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// Windows has two invalid values: some calls return null, others -1 (INVALID_HANDLE_VALUE).
[[nodiscard]] inline bool is_handle(void* handle) noexcept {
  return handle != nullptr && reinterpret_cast<std::intptr_t>(handle) != -1;
}

// Returns a handle as a number, or -1 for a value that is not a handle. An int is large enough: handles have 32
// significant bits, also in 64-bit processes, so that processes of both kinds can exchange them.
[[nodiscard]] inline int descriptor_of(void* handle) noexcept {
  return is_handle(handle) ? static_cast<int>(reinterpret_cast<std::intptr_t>(handle)) : -1;
}
[[nodiscard]] inline void* handle_of(int descriptor) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number in the form of a pointer
  return descriptor == -1 ? nullptr : reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
}

class UniqueHandle {
 public:
  UniqueHandle() noexcept = default;
  // Takes the result of a system call; either invalid value makes an empty owner.
  explicit UniqueHandle(void* handle) noexcept : handle_(is_handle(handle) ? handle : nullptr) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { (void)reset(); }

  [[nodiscard]] void* get() const noexcept { return handle_; }
  [[nodiscard]] bool valid() const noexcept { return handle_ != nullptr; }
  // Gives up ownership: the caller must close the handle.
  [[nodiscard]] void* release() noexcept { return std::exchange(handle_, nullptr); }
  // Closes now; returns the error of the system, 0 on success.
  int reset() noexcept;

 private:
  void* handle_ = nullptr;
};

// Returns a handle of the same object that grants at most `access` and is not inherited by child processes.
// Errors: invalid_argument (`handle` is not open), no_resource, io.
[[nodiscard]] Result<UniqueHandle> duplicate_handle(void* handle, unsigned long access);
[[nodiscard]] Result<UniqueHandle> duplicate_handle_as_it_is(void* handle);

}  // namespace fatctx::mapping
