// Calls that their caller can leave early. A signal, a timeout or a list stops them, and they report progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "fatctx/base/result.h"
#include "fatctx/progress.h"
#include "runtime/open/load_signal_state.h"

namespace fatctx {

// The caller's side of a call: the ways to stop it, and the receiver of its progress.
struct WatchedCall {
  std::string name;                     // the name of the source, for errors
  LoadSignal::State* signal = nullptr;  // null: no signal
  StopSource* stop = nullptr;           // a second source of stop requests; null if there is none
  Progress progress = {};               // called on the calling thread, about every 25 ms
  bool may_outlive_the_call = true;     // false: the work reads bytes that are valid during the call only

  // Returns false if nobody can stop the call and nobody wants its progress. The call then needs no thread.
  [[nodiscard]] bool needs_thread() const noexcept { return signal != nullptr || stop != nullptr || progress; }
};

// A piece of work on a thread of the library. The thread and the caller share it; it outlives a caller that has left.
class WatchedWork {
 public:
  WatchedWork() = default;
  virtual ~WatchedWork() = default;
  WatchedWork(const WatchedWork&) = delete;
  WatchedWork& operator=(const WatchedWork&) = delete;
  virtual void run() = 0;

  Monitor monitor;
  bool ended = false;  // guarded by the monitor's lock
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> done_bytes{0};   // counted by StepWatch
  std::atomic<std::uint64_t> total_bytes{0};  // set by the work once it knows the total
};

// Runs the work on a thread and waits for it. Returns Done when the work has ended.
// Errors: cancelled, timed_out, operation_not_permitted (the signal serves another call), no_resource (no thread).
[[nodiscard]] Status run_watched(const std::shared_ptr<WatchedWork>& work, const WatchedCall& call);
// Runs `work`, which takes the counter of total bytes and returns a Result<T>. It runs on a thread if the call needs
// one, otherwise on the calling thread. `work` must own everything it uses. An exception of the work leaves this call.
// Errors: those of run_watched() and of the work.
template <typename T, typename Work>
[[nodiscard]] Result<T> watched(const WatchedCall& call, Work work) {
  class Run final : public WatchedWork {
   public:
    explicit Run(Work given) : work_(std::move(given)) {}
    void run() override {
      try {
        result_.emplace(work_(total_bytes));
      } catch (const std::bad_alloc&) {
        result_.emplace(Error{ErrorCode::kOutOfMemory, {}});
      } catch (...) {
        exception_ = std::current_exception();
      }
    }
    [[nodiscard]] Result<T> take() {
      if (exception_) std::rethrow_exception(exception_);
      return *std::move(result_);
    }

   private:
    Work work_;
    std::optional<Result<T>> result_;
    std::exception_ptr exception_;
  };
  if (!call.needs_thread()) {
    std::atomic<std::uint64_t> total_bytes = 0;
    return work(total_bytes);
  }
  const auto run = std::make_shared<Run>(std::move(work));
  FATCTX_TRY(run_watched(run, call));
  return run->take();
}

}  // namespace fatctx
