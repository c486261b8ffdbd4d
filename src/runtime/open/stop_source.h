// A request to stop that any thread can make and that wakes the waiting threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace fatctx {

// A mutex and a condition variable on which a thread waits.
struct Monitor {
  std::mutex mutex;
  std::condition_variable changed;

  void wake() {
    // A thread that has checked its condition holds the lock until it waits. Taking the lock ensures that such a thread
    // is woken.
    { const std::lock_guard lock(mutex); }
    changed.notify_all();
  }
};

// A source of stop requests. Threads: every member from any number of threads. Lock order: its own lock before that of
// a monitor.
class StopSource {
 public:
  void request() {
    const std::lock_guard lock(mutex_);
    requested_.store(true, std::memory_order_release);
    for (Monitor* monitor : waiting_) monitor->wake();
  }
  [[nodiscard]] bool requested() const noexcept { return requested_.load(std::memory_order_acquire); }
  void take_back() noexcept { requested_.store(false, std::memory_order_release); }

  // A guard that registers a monitor to be woken. Ownership: borrows both.
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
