#include "container/sharing/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "mapping/background_thread.h"

namespace fatctx::container::sharing {
namespace {

constexpr unsigned kMostByItself = 8;
constexpr std::chrono::milliseconds kWaitingStep{20};

class Crew {
 public:
  Crew(std::size_t count, const std::function<Status(std::size_t)>& work) : count_(count), work_(work) {}

  void run() noexcept {
    while (!stop_.load(std::memory_order_relaxed)) {
      const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= count_) return;
      try {
        Status done = work_(index);
        if (!done.ok()) failed(index, std::move(done).error());
      } catch (...) {  // an exception that leaves a thread ends the process
        threw();
      }
    }
  }

  // Runs on a thread that was started for it.
  void run_aside() noexcept {
    run();
    const std::scoped_lock lock(mutex_);
    --aside_;
    one_ended_.notify_all();
  }
  void expect_one_aside() {
    const std::scoped_lock lock(mutex_);
    ++aside_;
  }
  void one_did_not_start() {
    const std::scoped_lock lock(mutex_);
    --aside_;
  }
  void wait(const std::function<void()>& while_waiting) noexcept {
    std::unique_lock lock(mutex_);
    for (bool ended = false; !ended;) {
      ended = one_ended_.wait_for(lock, kWaitingStep, [this] { return aside_ == 0; });
      lock.unlock();
      try {
        while_waiting();
      } catch (...) {
        threw();
      }
      lock.lock();
    }
  }

  Status result() {
    if (thrown_) std::rethrow_exception(thrown_);
    if (error_) return std::move(*error_);
    return Done{};
  }

 private:
  void threw() noexcept {
    const std::scoped_lock lock(mutex_);
    stop_.store(true, std::memory_order_relaxed);
    if (!thrown_) thrown_ = std::current_exception();
  }
  void failed(std::size_t index, Error error) {
    const std::scoped_lock lock(mutex_);
    stop_.store(true, std::memory_order_relaxed);
    if (error_ && failed_at_ < index) return;
    error_ = std::move(error);
    failed_at_ = index;
  }

  const std::size_t count_;
  const std::function<Status(std::size_t)>& work_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
  std::size_t failed_at_ = 0;
  std::exception_ptr thrown_;
  std::condition_variable one_ended_;
  std::size_t aside_ = 0;  // threads that were started and have not ended
};

}  // namespace

Status for_each_index(unsigned threads, std::size_t count, const std::function<Status(std::size_t)>& work,
                      const std::function<void()>& while_waiting) {
  Crew crew(count, work);
  {
    std::vector<std::unique_ptr<mapping::BackgroundThread>> others;
    const std::size_t most = std::min<std::size_t>(threads, count);
    if (most > 1) others.reserve(most - 1);
    while (others.size() + 1 < most) {
      crew.expect_one_aside();
      auto started = mapping::BackgroundThread::start([&] { crew.run_aside(); });
      if (!started.ok()) {  // the existing threads do the work
        crew.one_did_not_start();
        break;
      }
      others.push_back(std::move(started).value());
    }
    crew.run();
    if (while_waiting && !others.empty()) crew.wait(while_waiting);
  }
  return crew.result();
}

unsigned thread_count(unsigned asked) noexcept {
  if (asked != 0) return asked;
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMostByItself);
}

}  // namespace fatctx::container::sharing
