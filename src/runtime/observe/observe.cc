#include "runtime/observe/observe.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/immortal.h"
#include "fatctx/record.h"
#include "fatctx/trace.h"
#include "fatctx/version.h"
#include "mapping/fork_hook.h"

namespace fatctx {
namespace observe {

std::atomic<std::uint32_t> active{0};

namespace {

thread_local bool in_callback = false;
thread_local Span* outermost = nullptr;

std::uint64_t now() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

// A mark that a callback of the caller runs on this thread.
class Callback {
 public:
  Callback() noexcept { in_callback = true; }
  ~Callback() { in_callback = false; }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
};

std::uint32_t thread_number() noexcept {
  static constinit std::atomic<std::uint32_t> last{0};
  thread_local const std::uint32_t mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine;
}

// All recorded data. Callbacks are copied under the lock and called without it.
class Recorder {
 public:
  static Recorder& process();
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

  void start(const ProfileOptions& options) {
    auto hook = options.hook ? std::make_shared<const ProfileHook>(options.hook) : nullptr;
    const std::lock_guard lock(mutex_);
    profile_ = {};
    profile_.level = options.level;
    totals_ = {};
    max_events_ = options.max_events;
    hook_.swap(hook);  // the old hook is destroyed after the lock is released
    set(kProfiling, options.level != ProfileLevel::kOff);
  }

  Profile current() {
    const std::lock_guard lock(mutex_);
    Profile profile = profile_;
    for (const ProfileTotal& total : totals_) {
      if (total.count != 0) profile.totals.push_back(total);
    }
    return profile;
  }

  void stop() {
    std::shared_ptr<const ProfileHook> hook;
    const std::lock_guard lock(mutex_);
    hook_.swap(hook);
    set(kProfiling, false);
  }

  // Returns true if a hook wants the event.
  bool add(const ProfileEvent& event) {
    const std::lock_guard lock(mutex_);
    if ((active.load(std::memory_order_relaxed) & kProfiling) == 0) return false;  // stopped meanwhile
    ProfileTotal& total = totals_[static_cast<std::size_t>(event.kind)];
    total.kind = event.kind;
    ++total.count;
    total.failed += event.ok ? 0 : 1;
    total.total_ns += event.duration_ns;
    total.longest_ns = std::max(total.longest_ns, event.duration_ns);
    total.bytes += event.bytes;
    if (profile_.level == ProfileLevel::kDetailed) {
      if (profile_.events.size() < max_events_) {
        profile_.events.push_back(event);
      } else {
        ++profile_.dropped_events;
      }
    }
    return hook_ != nullptr;
  }

  void tell(const std::vector<ProfileEvent>& events) {
    std::shared_ptr<const ProfileHook> hook;
    {
      const std::lock_guard lock(mutex_);
      hook = hook_;
    }
    if (!hook) return;
    const Callback running;
    for (const ProfileEvent& event : events) (*hook)(event);
  }

  void set_sink(TraceSink sink) {
    auto fresh = sink ? std::make_shared<const TraceSink>(std::move(sink)) : nullptr;
    const std::lock_guard lock(mutex_);
    sink_.swap(fresh);
    set(kTracing, sink_ != nullptr);
  }

  void line(std::string_view text) {
    std::shared_ptr<const TraceSink> sink;
    {
      const std::lock_guard lock(mutex_);
      sink = sink_;
    }
    if (!sink) return;
    const Callback running;
    (*sink)(text);
  }

 private:
  static void set(std::uint32_t bit, bool on) noexcept {
    if (on) {
      active.fetch_or(bit, std::memory_order_relaxed);
    } else {
      active.fetch_and(~bit, std::memory_order_relaxed);
    }
  }

  std::mutex mutex_;
  Profile profile_;  // except the totals, which totals_ holds
  std::array<ProfileTotal, kProfileEventKinds> totals_;
  std::size_t max_events_ = 0;
  std::shared_ptr<const ProfileHook> hook_;
  std::shared_ptr<const TraceSink> sink_;
};

constinit Immortal<Recorder> recorder_of_the_process;
Recorder& Recorder::process() { return recorder_of_the_process.get(); }

[[maybe_unused]] const bool fork_hooks_installed = mapping::install_fork_hooks_of<&Recorder::process>();

}  // namespace

bool profiling_here() noexcept { return !in_callback; }
bool tracing_here() noexcept { return !in_callback; }

void Span::start() noexcept {
  if (outermost == nullptr) outermost = this;
  start_ns_ = now();
}

void Span::finish() noexcept {
  const std::uint64_t end = now();
  Span* const listener = outermost;
  if (listener == this) outermost = nullptr;
  try {
    ProfileEvent event;
    event.kind = kind_;
    event.start_ns = start_ns_;
    event.duration_ns = end - start_ns_;
    event.bytes = bytes_;
    event.thread = thread_number();
    event.ok = ok_;
    event.path = path_;
    if (record_ != nullptr) {
      event.record_id = record_->id;
      event.record = record_->name;
    }
    if (Recorder::process().add(event)) listener->unheard_.push_back(std::move(event));
    if (listener == this && !unheard_.empty()) Recorder::process().tell(unheard_);
  } catch (const std::bad_alloc&) {
    return;  // drops an event if memory is short; the call itself continues
  }
}

void trace_line(std::string_view line) noexcept {
  try {
    Recorder::process().line(line);
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace observe

void start_profile(const ProfileOptions& options) { observe::Recorder::process().start(options); }

Profile current_profile() { return observe::Recorder::process().current(); }

Profile stop_profile() {
  observe::Recorder::process().stop();
  return current_profile();
}

void set_trace(TraceSink sink) {
  const bool starts = static_cast<bool>(sink);
  if (starts) sink("{\"schema\":\"fatctx.trace/1\",\"version\":\"" FATCTX_VERSION "\"}");
  observe::Recorder::process().set_sink(std::move(sink));
}

}  // namespace fatctx
