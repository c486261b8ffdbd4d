// How far a check on several threads has come. The caller hears of it on his own thread only, and what he throws there
// stops the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "fatctx/base/result.h"
#include "fatctx/progress.h"

namespace fatctx::container {

// Ownership: borrows the callback. Made on the thread that may call it. Threads: every member from any number.
class CheckProgress {
 public:
  explicit CheckProgress(const Progress& progress) : progress_(progress), caller_(std::this_thread::get_id()) {}
  CheckProgress(const CheckProgress&) = delete;
  CheckProgress& operator=(const CheckProgress&) = delete;

  void expect(std::uint64_t total_bytes) noexcept { total_.store(total_bytes, std::memory_order_relaxed); }
  // Errors: cancelled, on threads that are not the caller's. Throws what the callback throws on the caller's.
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
