// The progress of work on several threads. Only the caller's own thread runs the callback; an exception from it stops
// the other threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "fatctx/base/result.h"
#include "fatctx/progress.h"

namespace fatctx::container {

// A counter that several threads add to. Ownership: borrows the callback and the flag. Must be constructed on the
// thread that may run the callback. Threads: every member from any number.
class WorkProgress {
 public:
  // `cancel`: null, or true to stop.
  explicit WorkProgress(const Progress& progress, const std::atomic<bool>* cancel = nullptr)
      : progress_(progress), cancel_(cancel), caller_(std::this_thread::get_id()) {}
  WorkProgress(const WorkProgress&) = delete;
  WorkProgress& operator=(const WorkProgress&) = delete;

  void expect(std::uint64_t total_bytes) noexcept { total_.store(total_bytes, std::memory_order_relaxed); }
  // Begins another pass over bytes: the count starts at 0. No other thread may add meanwhile.
  void begin(std::uint64_t total_bytes) noexcept;
  // Counts bytes, and runs the callback if this is the caller's thread. Passes on exceptions of the callback.
  // Errors: cancelled: by `cancel`, or because the callback has thrown.
  [[nodiscard]] Status add(std::uint64_t bytes);
  // The same for many small amounts: runs the callback once for each MiB, and at the total.
  [[nodiscard]] Status add_little(std::uint64_t bytes);
  [[nodiscard]] Status go_on() { return add(0); }
  [[nodiscard]] std::uint64_t done_bytes() const noexcept { return done_.load(std::memory_order_relaxed); }

 private:
  const Progress& progress_;
  const std::atomic<bool>* const cancel_;
  const std::thread::id caller_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> total_{0};
  std::atomic<bool> stopped_{false};
  std::uint64_t told_ = 0;  // done bytes at the last call of the callback; the caller's thread alone uses it
};

}  // namespace fatctx::container
