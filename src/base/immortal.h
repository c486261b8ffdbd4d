// An object of the process that its first user makes and that is never destroyed.
//
// It replaces a local static, for two reasons. The lock behind the initialisation of a local static may be held by
// another thread when the process forks; the child would wait for it for ever. And views may be used, and containers be
// opened, in atexit handlers and late destructors, when local statics are gone.
#pragma once

#include <atomic>
#include <memory>

namespace fatctx {

// At namespace scope and `constinit`. Two threads that come first at once both make one; that of the later is dropped.
template <typename T>
class Immortal {
 public:
  constexpr Immortal() noexcept = default;
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;

  // `make` gives a std::unique_ptr<T>; what it throws comes through.
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
