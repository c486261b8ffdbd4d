// The progress of a check on several threads. Only the caller's own thread runs the callback; an exception from it
// stops the other threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "fatctx/base/result.h"
#include "fatctx/progress.h"

namespace fatctx::container {

// A counter that several threads add to. Ownership: borrows the callback. Must be constructed on the thread that may
// run the callback. Threads: every member from any number.
class CheckProgress {
 public:
  explicit CheckProgress(const Progress& progress) : progress_(progress), caller_(std::this_thread::get_id()) {}
  CheckProgress(const CheckProgress&) = delete;
  CheckProgress& operator=(const CheckProgress&) = delete;

  void expect(std::uint64_t total_bytes) noexcept { total_.store(total_bytes, std::memory_order_relaxed); }
  // Counts bytes, and runs the callback if this is the caller's thread. Passes on exceptions of the callback.
  // Errors: cancelled, on every thread once the callback has thrown.
  [[nodiscard]] Status add(std::uint64_t bytes);
  [[nodiscard]] Status go_on() { return add(0); }
  [[nodiscard]] std::uint64_t done_bytes() const noexcept { return done_.load(std::memory_order_relaxed); }

 private:
  const Progress& progress_;
  const std::thread::id caller_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> total_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace fatctx::container
