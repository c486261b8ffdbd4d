// An object of the process that its first user makes and that is never destroyed.
//
// It replaces a local static, for two reasons. Another thread may hold the lock of a local static's initialisation when
// the process forks; the child would wait for it for ever. And views may be used, and containers opened, in atexit
// handlers and late destructors, when local statics are gone.
#pragma once

#include <atomic>
#include <memory>

namespace fatctx {

// A holder of such an object, at namespace scope and `constinit`. If two threads come first at the same time, both make
// one, and the later one is dropped.
template <typename T>
class Immortal {
 public:
  constexpr Immortal() noexcept = default;
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;

  // Returns the object. `make` returns a std::unique_ptr<T>; its exceptions are passed on.
  template <typename Make>
  [[nodiscard]] T& get(const Make& make) {
    T* made = object_.load(std::memory_order_acquire);
    if (made != nullptr) return *made;
    auto fresh = make();
    if (object_.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
    return *made;
  }
  [[nodiscard]] T& get() {
    return get([] { return std::make_unique<T>(); });
  }

 private:
  std::atomic<T*> object_{nullptr};
};

}  // namespace fatctx
