// How somebody on another thread hears of the steps of long work, and ends it between two of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "fatctx/base/result.h"

namespace fatctx {

// What this thread does counts, and can be stopped, while it lives. In place of a parameter through every layer
// between who waits and who reads.
//
// Ownership: borrows both. Threads: made, used and destroyed on one thread; what it borrows belongs to any.
class StepWatch {
 public:
  StepWatch(const std::atomic<bool>& stop, std::atomic<std::uint64_t>& done_bytes) noexcept
      : stop_(stop), done_bytes_(done_bytes), outer_(current_) {
    current_ = this;
  }
  ~StepWatch() { current_ = outer_; }
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  // After so many bytes more. Done if nobody watches this thread. Errors: cancelled.
  [[nodiscard]] static Status step(std::uint64_t bytes);
  // What stops this thread; null if nobody watches it.
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
