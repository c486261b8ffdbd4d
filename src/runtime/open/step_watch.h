// A way for another thread to follow the progress of long work, and to stop it between two steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "fatctx/base/result.h"

namespace fatctx {

// A scope in which the work of this thread is counted and can be stopped. It avoids a parameter through every layer
// between the waiting caller and the code that reads.
//
// Ownership: borrows both. Threads: constructed, used and destroyed on one thread; any thread may use the borrowed
// objects.
class StepWatch {
 public:
  StepWatch(const std::atomic<bool>& stop, std::atomic<std::uint64_t>& done_bytes) noexcept
      : stop_(stop), done_bytes_(done_bytes), outer_(current_) {
    current_ = this;
  }
  ~StepWatch() { current_ = outer_; }
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  // Counts bytes of finished work. Returns Done if nobody watches this thread. Errors: cancelled.
  [[nodiscard]] static Status step(std::uint64_t bytes);
  // Returns the flag that stops this thread, or null if nobody watches it.
  [[nodiscard]] static const std::atomic<bool>* stop() noexcept {
    return current_ == nullptr ? nullptr : &current_->stop_;
  }

 private:
  static thread_local const StepWatch* current_;

  const std::atomic<bool>& stop_;
  std::atomic<std::uint64_t>& done_bytes_;
  const StepWatch* outer_;
};

}  // namespace fatctx
