#include "runtime/load/load_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "mapping/background_thread.h"
#include "runtime/load/load_work.h"
#include "runtime/open/step_watch.h"

namespace fatctx {

struct LoadSignal::State {
  StopSource stop;
  std::atomic<bool> in_use{false};
  std::atomic<std::int64_t> timeout_ms{0};
};

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenTellings{25};
constexpr std::chrono::milliseconds kGrace{40};  // less than half of what a stopped load may take to return

// What the worker works on. It shares in this with who waits, and keeps it when nobody does any more.
struct Shared {
  Shared(LoadInput from, LoadOptions how) : input(std::move(from)), options(std::move(how)) {}

  void work() {
    const StepWatch watch(stop, done_bytes);
    std::optional<Result<LoadedContext>> made;
    try {
      made.emplace(load_work(input, options, total_bytes));
    } catch (const std::bad_alloc&) {
      made.emplace(Error{ErrorCode::kOutOfMemory, {}});
    }
    {
      const std::lock_guard lock(monitor.mutex);
      result = std::move(made);
    }
    monitor.changed.notify_all();
  }

  const LoadInput input;
  const LoadOptions options;
  Monitor monitor;
  std::optional<Result<LoadedContext>> result;  // under the monitor's lock
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> done_bytes{0};
  std::atomic<std::uint64_t> total_bytes{0};
};

// Ends the wait for the worker however the waiting ends.
class Worker {
 public:
  Worker(std::shared_ptr<Shared> shared, std::unique_ptr<mapping::BackgroundThread> thread) noexcept
      : shared_(std::move(shared)), thread_(std::move(thread)) {}
  ~Worker() {
    shared_->stop.store(true, std::memory_order_relaxed);
    if (done_ || !thread_->here() || !shared_->input.may_outlive_the_call()) return;
    // Who only has to come to his next step leaves nothing behind when the load returns.
    std::unique_lock lock(shared_->monitor.mutex);
    const bool ended = shared_->monitor.changed.wait_for(lock, kGrace, [&] { return shared_->result.has_value(); });
    if (!ended) thread_->abandon();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  void done() noexcept { done_ = true; }
  [[nodiscard]] bool here() const noexcept { return thread_->here(); }

 private:
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<mapping::BackgroundThread> thread_;  // waits when it goes, unless it was abandoned
  bool done_ = false;
};

class SignalUse {
 public:
  explicit SignalUse(std::atomic<bool>* in_use) noexcept
      : in_use_(in_use), mine_(in_use == nullptr || !in_use->exchange(true, std::memory_order_acq_rel)) {}
  ~SignalUse() {
    if (in_use_ != nullptr && mine_) in_use_->store(false, std::memory_order_release);
  }
  SignalUse(const SignalUse&) = delete;
  SignalUse& operator=(const SignalUse&) = delete;
  [[nodiscard]] bool mine() const noexcept { return mine_; }

 private:
  std::atomic<bool>* in_use_;
  bool mine_;
};

Error stopped(const LoadInput& input) {
  return Error{ErrorCode::kCancelled, fmt::format("{}: the load was stopped", input.name())};
}

void tell_end(const Result<LoadedContext>& loaded, const LoadNotify& notify) {
  if (!notify) return;
  if (!loaded.ok()) {
    notify(
        {.kind = LoadEventKind::kContextInitialised, .record = {}, .unit = {}, .graph = {}, .error = loaded.error()});
    return;
  }
  for (const LoadedRecord& binary : loaded.value().binaries()) {
    for (const std::string& graph : binary.graphs) {
      notify({.kind = LoadEventKind::kGraphInitialised, .record = binary.name, .unit = binary.unit, .graph = graph});
    }
    notify({.kind = LoadEventKind::kContextInitialised, .record = binary.name, .unit = binary.unit, .graph = {}});
  }
}

}  // namespace

LoadSignal::LoadSignal() : state_(std::make_shared<State>()) {}

LoadSignal::LoadSignal(std::chrono::milliseconds timeout) : LoadSignal() {
  state_->timeout_ms.store(timeout.count(), std::memory_order_relaxed);
}

void LoadSignal::cancel() { state_->stop.request(); }

bool LoadSignal::cancelled() const noexcept { return state_->stop.requested(); }

bool LoadSignal::in_use() const noexcept { return state_->in_use.load(std::memory_order_acquire); }

Status LoadSignal::set_timeout(std::chrono::milliseconds timeout) {
  if (timeout.count() < 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("a timeout of {} ms; 0 is none, and a positive number is a limit", timeout.count())};
  }
  const SignalUse use(&state_->in_use);
  if (!use.mine()) {
    return Error{ErrorCode::kOperationNotPermitted,
                 "the signal serves a load that is going on; set its timeout before or after"};
  }
  state_->timeout_ms.store(timeout.count(), std::memory_order_relaxed);
  return Done{};
}

Status LoadSignal::reset() {
  const SignalUse use(&state_->in_use);
  if (!use.mine()) {
    return Error{ErrorCode::kOperationNotPermitted, "the signal serves a load that is going on; reset it afterwards"};
  }
  state_->stop.take_back();
  return Done{};
}

Result<LoadedContext> LoadRun::run(const LoadInput& input, const LoadOptions& options, StopSource* stop) {
  Result<LoadedContext> loaded = guarded(input, options, stop);
  tell_end(loaded, options.notify);
  return loaded;
}

Result<LoadedContext> LoadRun::guarded(const LoadInput& input, const LoadOptions& options, StopSource* stop) {
  LoadSignal::State* signal = options.signal ? options.signal->state_.get() : nullptr;
  const SignalUse use(signal == nullptr ? nullptr : &signal->in_use);
  if (!use.mine()) {
    return Error{ErrorCode::kOperationNotPermitted,
                 fmt::format("{}: the signal serves another load already; give each load that runs at the same time "
                             "a signal of its own",
                             input.name())};
  }
  if (signal == nullptr && stop == nullptr && !options.progress) {
    std::atomic<std::uint64_t> total_bytes = 0;
    return load_work(input, options, total_bytes);
  }
  if ((signal != nullptr && signal->stop.requested()) || (stop != nullptr && stop->requested())) return stopped(input);
  return aside(input, options, signal, stop);
}

Result<LoadedContext> LoadRun::aside(const LoadInput& input, const LoadOptions& options, LoadSignal::State* signal,
                                     StopSource* stop) {
  std::optional<Clock::time_point> deadline;
  const std::int64_t timeout_ms = signal == nullptr ? 0 : signal->timeout_ms.load(std::memory_order_relaxed);
  if (timeout_ms > 0) deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  LoadOptions given = options;
  given.signal.reset();
  given.notify = nullptr;
  given.progress = nullptr;
  if (given.model.consumer) {
    // Callbacks of the caller run on his own threads, and not when he has left.
    given.model.consumer = [support = given.model.consumer()] { return support; };
  }
  const auto shared = std::make_shared<Shared>(input, std::move(given));
  FATCTX_ASSIGN(auto thread, mapping::BackgroundThread::start([shared] { shared->work(); }));
  Worker worker(shared, std::move(thread));
  std::optional<StopSource::Waker> wakes_by_signal;
  std::optional<StopSource::Waker> wakes_by_stop;
  if (signal != nullptr) wakes_by_signal.emplace(signal->stop, shared->monitor);
  if (stop != nullptr) wakes_by_stop.emplace(*stop, shared->monitor);
  const auto tell = [&] {
    const std::uint64_t total = shared->total_bytes.load(std::memory_order_relaxed);
    options.progress(std::min(shared->done_bytes.load(std::memory_order_relaxed), total), total);
  };
  Clock::time_point next_telling = Clock::now() + kBetweenTellings;
  std::unique_lock lock(shared->monitor.mutex);
  for (;;) {
    if (shared->result) break;
    if ((signal != nullptr && signal->stop.requested()) || (stop != nullptr && stop->requested())) {
      return stopped(input);
    }
    const Clock::time_point now = Clock::now();
    if (deadline && now >= *deadline) {
      return Error{ErrorCode::kTimedOut, fmt::format("{}: not loaded after {} ms; give it more time, or look at what "
                                                     "the file lies on",
                                                     input.name(), timeout_ms)};
    }
    if (options.progress && now >= next_telling) {
      lock.unlock();
      tell();
      // A callback may have forked: there is no worker in the child, and its lock may be held by nobody.
      if (!worker.here()) {
        return Error{ErrorCode::kCancelled, "the load goes on in the parent process only: a fork copies no threads"};
      }
      next_telling = now + kBetweenTellings;
      lock.lock();
      continue;
    }
    Clock::time_point until = options.progress ? next_telling : Clock::time_point::max();
    if (deadline) until = std::min(until, *deadline);
    if (until == Clock::time_point::max()) {
      shared->monitor.changed.wait(lock);
    } else {
      shared->monitor.changed.wait_until(lock, until);
    }
  }
  worker.done();
  Result<LoadedContext> loaded = *std::move(shared->result);
  lock.unlock();
  if (options.progress && loaded.ok()) {
    const std::uint64_t total = shared->total_bytes.load(std::memory_order_relaxed);
    options.progress(total, total);
  }
  return loaded;
}

Result<LoadedContext> load_context(const LoadSource& source, const LoadOptions& options) {
  FATCTX_ASSIGN(const LoadInput input, LoadInput::hold(source));
  return LoadRun::run(input, options, nullptr);
}

}  // namespace fatctx
