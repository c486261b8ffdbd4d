#include "runtime/open/watched_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "mapping/background_thread.h"
#include "runtime/open/step_watch.h"

namespace fatctx {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenReports{25};
constexpr std::chrono::milliseconds kGrace{40};  // less than half of the time that a stopped call may take to return

void work_through(WatchedWork& work) {
  {
    const StepWatch watch(work.stop, work.done_bytes);
    work.run();
  }
  {
    const std::lock_guard lock(work.monitor.mutex);
    work.ended = true;
  }
  work.monitor.changed.notify_all();
}

// A guard that stops the work and waits for its thread, however the call ends.
class Worker {
 public:
  Worker(std::shared_ptr<WatchedWork> work, std::unique_ptr<mapping::BackgroundThread> thread,
         bool may_outlive_the_call) noexcept
      : work_(std::move(work)), thread_(std::move(thread)), may_outlive_the_call_(may_outlive_the_call) {}
  ~Worker() {
    work_->stop.store(true, std::memory_order_relaxed);
    if (!thread_->here() || !may_outlive_the_call_) return;
    // Lets a thread that is in its last step finish, so that it has ended when the call returns.
    std::unique_lock lock(work_->monitor.mutex);
    if (!work_->monitor.changed.wait_for(lock, kGrace, [&] { return work_->ended; })) thread_->abandon();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  [[nodiscard]] bool here() const noexcept { return thread_->here(); }

 private:
  std::shared_ptr<WatchedWork> work_;
  std::unique_ptr<mapping::BackgroundThread> thread_;  // its destructor joins the thread, unless abandoned
  bool may_outlive_the_call_;
};

bool is_stopped(const WatchedCall& call) noexcept {
  return (call.signal != nullptr && call.signal->stop.requested()) || (call.stop != nullptr && call.stop->requested());
}

Error stopped(const WatchedCall& call) {
  return Error{ErrorCode::kCancelled, fmt::format("{}: the load was stopped", call.name)};
}

}  // namespace

Status run_watched(const std::shared_ptr<WatchedWork>& work, const WatchedCall& call) {
  std::optional<SignalUse> use;
  if (call.signal != nullptr) use.emplace(*call.signal);
  if (use && !use->mine()) {
    return Error{ErrorCode::kOperationNotPermitted,
                 fmt::format("{}: the signal serves another load already; give each load that runs at the same time "
                             "a signal of its own",
                             call.name)};
  }
  if (is_stopped(call)) return stopped(call);
  std::optional<Clock::time_point> deadline;
  const std::int64_t timeout_ms = call.signal == nullptr ? 0 : call.signal->timeout_ms.load(std::memory_order_relaxed);
  if (timeout_ms > 0) deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  FATCTX_ASSIGN(auto thread, mapping::BackgroundThread::start([work] { work_through(*work); }));
  Worker worker(work, std::move(thread), call.may_outlive_the_call);
  std::optional<StopSource::Waker> wakes_by_signal;
  std::optional<StopSource::Waker> wakes_by_stop;
  if (call.signal != nullptr) wakes_by_signal.emplace(call.signal->stop, work->monitor);
  if (call.stop != nullptr) wakes_by_stop.emplace(*call.stop, work->monitor);
  Clock::time_point next_report = Clock::now() + kBetweenReports;
  std::unique_lock lock(work->monitor.mutex);
  while (!work->ended) {
    if (is_stopped(call)) return stopped(call);
    const Clock::time_point now = Clock::now();
    if (deadline && now >= *deadline) {
      return Error{ErrorCode::kTimedOut,
                   fmt::format("{}: not loaded after {} ms; allow more time, or check the disk or network that stores "
                               "the file",
                               call.name, timeout_ms)};
    }
    if (call.progress && now >= next_report) {
      lock.unlock();
      const std::uint64_t total = work->total_bytes.load(std::memory_order_relaxed);
      call.progress(std::min(work->done_bytes.load(std::memory_order_relaxed), total), total);
      // The callback may have forked. The child has no such thread, and nobody holds its lock.
      if (!worker.here()) {
        return Error{ErrorCode::kCancelled, "the load goes on in the parent process only: a fork copies no threads"};
      }
      next_report = now + kBetweenReports;
      lock.lock();
      continue;
    }
    Clock::time_point until = call.progress ? next_report : Clock::time_point::max();
    if (deadline) until = std::min(until, *deadline);
    if (until == Clock::time_point::max()) {
      work->monitor.changed.wait(lock);
    } else {
      work->monitor.changed.wait_until(lock, until);
    }
  }
  return Done{};
}

}  // namespace fatctx
