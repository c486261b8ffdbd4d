#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "fatctx/load.h"
#include "mapping/background_thread.h"
#include "runtime/load/load_run.h"

namespace fatctx {
namespace {

constexpr std::size_t kMostThreads = 8;

// The list whose items this thread loads. A callback on this thread thus recognises its own list.
thread_local const void* thread_of = nullptr;

}  // namespace

// The state of a list. The handle and its threads share it; the threads may outlive the handle if a callback destroys
// it.
struct LoadListState {
  struct Item {
    HeldSource source;
    LoadOptions options;
    std::function<void(std::size_t, const Result<Session>&)> finished;
    std::optional<Result<Session>> result;  // set once; guarded by the lock
  };

  // Loads items until none are left.
  void work() {
    thread_of = this;
    for (;;) {
      std::size_t index = 0;
      {
        const std::lock_guard lock(monitor.mutex);
        if (next == items.size()) return;
        index = next++;
      }
      finish(index, load(items[index]));
    }
  }

  [[nodiscard]] Result<Session> load(const Item& item) {
    try {
      return run_load(item.source, item.options, &stop);
    } catch (const std::bad_alloc&) {
      return Error{ErrorCode::kOutOfMemory, {}};
    } catch (...) {  // no caller exists that could catch it
      return Error{ErrorCode::kCancelled,
                   fmt::format("{}: the load was stopped by a callback", item.source.source().name())};
    }
  }

  // Reports finished items to the caller, one at a time and without holding the lock. A thread that finds no other
  // thread reporting also reports the items that finish meanwhile.
  void finish(std::size_t index, Result<Session> loaded) {
    std::unique_lock lock(monitor.mutex);
    items[index].result.emplace(std::move(loaded));
    due.push_back(index);
    if (telling) return;
    telling = true;
    while (told_count != due.size()) {
      const std::size_t told = due[told_count];
      Item& item = items[told];
      if (item.finished) {
        lock.unlock();
        item.finished(told, *item.result);
        lock.lock();
      }
      if (++told_count == items.size()) monitor.changed.notify_all();
    }
    telling = false;
  }

  std::vector<Item> items;
  StopSource stop;
  Monitor monitor;
  std::size_t next = 0;          // guarded by the lock, like all members below
  std::vector<std::size_t> due;  // in the order in which they finished; has room for all
  bool telling = false;
  std::size_t told_count = 0;
};

struct LoadList::Impl {
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    // In a forked child there is no thread to stop, and no thread that would release a lock.
    if (!threads.empty() && threads.front()->here()) state->stop.request();
    if (thread_of == state.get()) {
      for (const auto& thread : threads) thread->abandon();
    }
  }

  std::shared_ptr<LoadListState> state = std::make_shared<LoadListState>();
  std::vector<std::unique_ptr<mapping::BackgroundThread>> threads;  // the destructor waits for them
};

LoadList::LoadList(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
LoadList::LoadList(LoadList&&) noexcept = default;
LoadList& LoadList::operator=(LoadList&&) noexcept = default;
LoadList::~LoadList() = default;

std::size_t LoadList::size() const noexcept { return impl_->state->items.size(); }

std::size_t LoadList::finished_count() const {
  const std::lock_guard lock(impl_->state->monitor.mutex);
  return impl_->state->told_count;
}

void LoadList::cancel() { impl_->state->stop.request(); }

Status LoadList::wait() {
  LoadListState& state = *impl_->state;
  if (thread_of == &state) {
    return Error{ErrorCode::kOperationNotPermitted,
                 "a list of loads cannot be waited for from a callback of its own; cancel it there"};
  }
  const bool here =
      std::all_of(impl_->threads.begin(), impl_->threads.end(), [](const auto& thread) { return thread->here(); });
  if (!here) {
    return Error{ErrorCode::kCancelled, "the loads go on in the parent process only: a fork copies no threads"};
  }
  std::unique_lock lock(state.monitor.mutex);
  while (state.told_count != state.items.size()) state.monitor.changed.wait(lock);
  return Done{};
}

Result<Session> LoadList::result(std::size_t index) const {
  LoadListState& state = *impl_->state;
  if (index >= state.items.size()) {
    return Error{ErrorCode::kNotFound, fmt::format("there is no item {}; the list has {}", index, state.items.size())};
  }
  const std::lock_guard lock(state.monitor.mutex);
  const LoadListState::Item& item = state.items[index];
  if (!item.result) {
    return Error{ErrorCode::kOperationNotPermitted,
                 fmt::format("item {} of the list is still being loaded; wait for it, or take the result that its "
                             "callback gets",
                             index)};
  }
  return *item.result;
}

Result<LoadList> load_all(std::vector<LoadItem> items, const LoadListOptions& options) {
  auto impl = std::make_unique<LoadList::Impl>();
  LoadListState& state = *impl->state;
  state.due.reserve(items.size());
  for (LoadItem& item : items) {
    FATCTX_ASSIGN(HeldSource source, HeldSource::hold(item.source));
    state.items.push_back({.source = std::move(source),
                           .options = std::move(item.options),
                           .finished = std::move(item.finished),
                           .result = {}});
  }
  std::size_t count = options.threads;
  if (count == 0) count = std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), kMostThreads);
  count = std::min(count, state.items.size());
  for (std::size_t i = 0; i < count; ++i) {
    auto thread = mapping::BackgroundThread::start([shared = impl->state] { shared->work(); });
    // An error only if no thread could start: fewer threads still load all items.
    if (!thread.ok() && impl->threads.empty()) return std::move(thread).error();
    if (!thread.ok()) break;
    impl->threads.push_back(std::move(thread).value());
  }
  return LoadList(std::move(impl));
}

}  // namespace fatctx
