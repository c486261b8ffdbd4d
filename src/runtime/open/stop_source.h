// A wish to stop that any thread can utter, and that wakes those who wait.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace fatctx {

// What a waiting thread sleeps on.
struct Monitor {
  std::mutex mutex;
  std::condition_variable changed;

  void wake() {
    // Whoever looked before and has not fallen asleep yet holds the lock.
    { const std::lock_guard lock(mutex); }
    changed.notify_all();
  }
};

// Threads: every member from any number of threads. Its lock is taken before that of a monitor.
class StopSource {
 public:
  void request() {
    const std::lock_guard lock(mutex_);
    requested_.store(true, std::memory_order_release);
    for (Monitor* monitor : waiting_) monitor->wake();
  }
  [[nodiscard]] bool requested() const noexcept { return requested_.load(std::memory_order_acquire); }
  void take_back() noexcept { requested_.store(false, std::memory_order_release); }

  // Wakes a monitor while it lives. Ownership: borrows both.
  class Waker {
   public:
    Waker(StopSource& source, Monitor& monitor) : source_(source), monitor_(monitor) {
      const std::lock_guard lock(source_.mutex_);
      source_.waiting_.push_back(&monitor_);
    }
    ~Waker() {
      const std::lock_guard lock(source_.mutex_);
      source_.waiting_.erase(std::find(source_.waiting_.begin(), source_.waiting_.end(), &monitor_));
    }
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;

   private:
    StopSource& source_;
    Monitor& monitor_;
  };

 private:
  std::mutex mutex_;
  std::atomic<bool> requested_{false};
  std::vector<Monitor*> waiting_;
};

}  // namespace fatctx
