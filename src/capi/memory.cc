// Prefetch, release and lock through C.
#include "fatctx/memory.h"

#include <atomic>
#include <mutex>

#include "capi/callbacks.h"
#include "capi/objects.h"

namespace fatctx::capi {
namespace {

// The caller's progress, and the wish to stop that it may answer.
class StopOnProgress {
 public:
  StopOnProgress(fatctx_progress callback, void* user) noexcept : callback_(callback), user_(user) {}
  StopOnProgress(const StopOnProgress&) = delete;
  StopOnProgress& operator=(const StopOnProgress&) = delete;

  // Lifetime: `options` borrow from this object.
  void watch(PrefetchOptions& options) {
    options.cancel = &stop_;
    if (callback_ == nullptr) return;
    options.progress = [this](std::uint64_t done, std::uint64_t asked) {
      const StopOnProgress* const outer = std::exchange(running_, this);
      quietly([&] {
        if (callback_(user_, done, asked) != 0) stop_ = true;
      });
      running_ = outer;
    };
  }
  // Returns true if this thread is in its callback: waiting for the work there would never end.
  [[nodiscard]] bool in_callback() const noexcept { return running_ == this; }

 private:
  static inline thread_local const StopOnProgress* running_ = nullptr;

  fatctx_progress callback_;
  void* user_;
  std::atomic<bool> stop_ = false;
};

Result<fatctx_prefetch_options> read_prefetch_options(const fatctx_prefetch_options* options) {
  fatctx_prefetch_options given = {};
  fatctx_prefetch_options_init(&given, sizeof given);
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  return given;
}

Status tell(const PrefetchReport& report, fatctx_prefetch_report* out) {
  fatctx_prefetch_report filled = {};
  filled.method = static_cast<std::uint32_t>(report.method);
  filled.asked_bytes = report.asked_bytes;
  filled.done_bytes = report.done_bytes;
  filled.cancelled = flag(report.cancelled);
  FATCTX_TRY(write_sized(filled, out, "report"));
  if (report.cancelled) return Error{ErrorCode::kCancelled, "the prefetch was stopped before its end"};
  return Done{};
}

// `work` takes PrefetchOptions and returns a Result<PrefetchReport>.
template <typename Work>
Status prefetched(const fatctx_prefetch_options* options, fatctx_prefetch_report* out, const Work& work) {
  FATCTX_TRY(not_null(out, "report"));
  FATCTX_TRY(check_struct_size(out->struct_size));
  FATCTX_ASSIGN(const fatctx_prefetch_options given, read_prefetch_options(options));
  StopOnProgress progress(given.progress, given.user);
  PrefetchOptions passed;
  passed.max_bytes = given.max_bytes;
  progress.watch(passed);
  FATCTX_ASSIGN(const PrefetchReport report, work(passed));
  return tell(report, out);
}

Status report_released(const Result<ReleaseReport>& report, fatctx_release_report* out) {
  if (!report.ok()) return report.error();
  fatctx_release_report filled = {};
  filled.asked_bytes = report.value().asked_bytes;
  filled.released_bytes = report.value().released_bytes;
  return write_sized(filled, out, "report");
}

// `work` takes ReleaseOptions and returns a Result<ReleaseReport>.
template <typename Work>
Status released(const fatctx_release_options* options, fatctx_release_report* out, const Work& work) {
  FATCTX_TRY(not_null(out, "report"));
  FATCTX_TRY(check_struct_size(out->struct_size));
  fatctx_release_options given = {};
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  return report_released(work(ReleaseOptions{.keep_cached = given.keep_cached != 0}), out);
}

}  // namespace

// A prefetch on a thread of the library, with what its callback needs. Threads: any; only one is let into wait().
class PrefetchObject {
 public:
  PrefetchObject(std::shared_ptr<StopOnProgress> progress, PrefetchHandle handle)
      : progress_(std::move(progress)), handle_(std::move(handle)) {}

  void cancel() noexcept { handle_.cancel(); }
  [[nodiscard]] bool done() const noexcept { return handle_.done(); }
  [[nodiscard]] std::uint64_t done_bytes() const noexcept { return handle_.done_bytes(); }
  [[nodiscard]] Result<PrefetchReport> wait() {
    FATCTX_TRY(not_from_callback());
    const std::lock_guard lock(waiting_);
    return handle_.wait();
  }
  [[nodiscard]] Status not_from_callback() const {
    if (!progress_->in_callback()) return Done{};
    return Error{ErrorCode::kOperationNotPermitted,
                 "a prefetch cannot be waited for from its own progress callback; answer anything but 0 to stop it"};
  }

 private:
  std::shared_ptr<StopOnProgress> progress_;  // outlives the thread, which the handle's destructor waits for
  std::mutex waiting_;
  PrefetchHandle handle_;
};

namespace {

// `start` takes PrefetchOptions and returns a Result<PrefetchHandle>.
template <typename Start>
Result<std::shared_ptr<PrefetchObject>> started(const fatctx_prefetch_options* options, const Start& start) {
  FATCTX_ASSIGN(const fatctx_prefetch_options given, read_prefetch_options(options));
  auto progress = std::make_shared<StopOnProgress>(given.progress, given.user);
  PrefetchOptions passed;
  passed.max_bytes = given.max_bytes;
  progress->watch(passed);
  FATCTX_ASSIGN(PrefetchHandle handle, start(std::move(passed)));
  return std::make_shared<PrefetchObject>(std::move(progress), std::move(handle));
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

void fatctx_prefetch_options_init(fatctx_prefetch_options* options, size_t struct_size) {
  fatctx_prefetch_options result = {};
  result.max_bytes = fatctx::PrefetchOptions{}.max_bytes;
  init_sized(result, options, struct_size);
}

int32_t fatctx_container_prefetch(fatctx_container container, uint32_t record_id,
                                  const fatctx_prefetch_options* options, fatctx_prefetch_report* report,
                                  fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) {
    return prefetched(options, report, [&](const fatctx::PrefetchOptions& given) {
      return object.container.prefetch(record_id, given);
    });
  });
}

int32_t fatctx_session_prefetch(fatctx_session session, const fatctx_prefetch_options* options,
                                fatctx_prefetch_report* report, fatctx_error* error) {
  return with_object(session, error, [&](const fatctx::Session& object) {
    return prefetched(options, report, [&](const fatctx::PrefetchOptions& given) { return object.prefetch(given); });
  });
}

int32_t fatctx_thin_dlc_prefetch(fatctx_view view, const fatctx_prefetch_options* options,
                                 fatctx_prefetch_report* report, fatctx_error* error) {
  return with_object(view, error, [&](const ViewObject& object) -> fatctx::Status {
    if (!object.thin_dlc) {
      return fatctx::Error{fatctx::ErrorCode::kInvalidArgument,
                           "the view is not one of a thin DLC; fatctx_container_prefetch() is for records"};
    }
    return prefetched(options, report,
                      [&](const fatctx::PrefetchOptions& given) { return object.thin_dlc->prefetch(given); });
  });
}

int32_t fatctx_container_prefetch_in_background(fatctx_container container, uint32_t record_id,
                                                const fatctx_prefetch_options* options, fatctx_prefetch* prefetch,
                                                fatctx_error* error) {
  return make_handle(prefetch, "prefetch", error, [&]() -> fatctx::Result<std::shared_ptr<PrefetchObject>> {
    FATCTX_ASSIGN(const auto object, find(container));
    return started(options, [&](fatctx::PrefetchOptions given) {
      return object->container.prefetch_in_background(record_id, std::move(given));
    });
  });
}

int32_t fatctx_session_prefetch_in_background(fatctx_session session, const fatctx_prefetch_options* options,
                                              fatctx_prefetch* prefetch, fatctx_error* error) {
  return make_handle(prefetch, "prefetch", error, [&]() -> fatctx::Result<std::shared_ptr<PrefetchObject>> {
    FATCTX_ASSIGN(const auto object, find(session));
    return started(options,
                   [&](fatctx::PrefetchOptions given) { return object->prefetch_in_background(std::move(given)); });
  });
}

int32_t fatctx_prefetch_cancel(fatctx_prefetch prefetch, fatctx_error* error) {
  return with_object(prefetch, error, [](PrefetchObject& object) -> fatctx::Status {
    object.cancel();
    return fatctx::Done{};
  });
}

int32_t fatctx_prefetch_state(fatctx_prefetch prefetch, uint32_t* done, uint64_t* done_bytes, fatctx_error* error) {
  return with_object(prefetch, error, [&](const PrefetchObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(done, "done"));
    FATCTX_TRY(not_null(done_bytes, "done_bytes"));
    *done = flag(object.done());
    *done_bytes = object.done_bytes();
    return fatctx::Done{};
  });
}

int32_t fatctx_prefetch_wait(fatctx_prefetch prefetch, fatctx_prefetch_report* report, fatctx_error* error) {
  return with_object(prefetch, error, [&](PrefetchObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(report, "report"));
    FATCTX_TRY(check_struct_size(report->struct_size));
    FATCTX_ASSIGN(const fatctx::PrefetchReport ended, object.wait());
    return tell(ended, report);
  });
}

int32_t fatctx_prefetch_close(fatctx_prefetch prefetch, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    if (prefetch.id == 0) return fatctx::Done{};
    FATCTX_ASSIGN(const auto object, find(prefetch));
    FATCTX_TRY(object->not_from_callback());
    FATCTX_ASSIGN(const std::shared_ptr<void> taken, HandleTable::process().take(Kind::kPrefetch, prefetch.id));
    object->cancel();
    // The thread ends here and not where the last share goes, which could be in a call of its own callback.
    const auto ended = object->wait();
    static_cast<void>(ended);  // how it ended is of no interest any more
    return fatctx::Done{};
  });
}

int32_t fatctx_container_release(fatctx_container container, uint32_t record_id, const fatctx_release_options* options,
                                 fatctx_release_report* report, fatctx_error* error) {
  return with_object(container, error, [&](const ContainerObject& object) {
    return released(options, report,
                    [&](const fatctx::ReleaseOptions& given) { return object.container.release(record_id, given); });
  });
}

int32_t fatctx_session_release(fatctx_session session, const fatctx_release_options* options,
                               fatctx_release_report* report, fatctx_error* error) {
  return with_object(session, error, [&](const fatctx::Session& object) {
    return released(options, report, [&](const fatctx::ReleaseOptions& given) { return object.release(given); });
  });
}

int32_t fatctx_container_lock(fatctx_container container, uint32_t record_id, fatctx_record_lock* lock,
                              fatctx_error* error) {
  return make_handle(lock, "lock", error, [&]() -> fatctx::Result<fatctx::RecordLock> {
    FATCTX_ASSIGN(const auto object, find(container));
    return object->container.lock(record_id);
  });
}

int32_t fatctx_record_lock_close(fatctx_record_lock lock, fatctx_error* error) { return close_handle(lock, error); }

}  // extern "C"
