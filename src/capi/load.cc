// Loading through C: one call for any file, signals, and lists.
#include "fatctx/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "capi/callbacks.h"
#include "capi/objects.h"

namespace fatctx::capi {
namespace {

Result<std::chrono::milliseconds> timeout_in(std::uint64_t timeout_ms) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // some decades
  if (timeout_ms > kMost) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("timeout_ms is {}; at most {} are counted, and 0 means no limit", timeout_ms, kMost)};
  }
  return std::chrono::milliseconds(timeout_ms);
}

Result<Source> source_in(const fatctx_source* source) {
  FATCTX_TRY(not_null(source, "source"));
  fatctx_source given = {};
  fatctx_source_init(&given, sizeof given);
  FATCTX_TRY(read_sized(source, given));
  const int ways = (given.path != nullptr ? 1 : 0) + (given.descriptor >= 0 ? 1 : 0) + (given.bytes != nullptr ? 1 : 0);
  if (ways != 1) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the source has {} of path, descriptor and bytes; give one of them", ways)};
  }
  if (given.path != nullptr) return Source(given.path);
  if (given.bytes == nullptr) {
    return Source::of_descriptor(given.descriptor, {.offset = given.offset, .size = given.size});
  }
  FATCTX_ASSIGN(const ByteView bytes, bytes_in(given.bytes, given.bytes_size, "bytes"));
  return Source::of_memory(bytes);
}

void tell(fatctx_load_notify notify, void* user, const LoadEvent& event) {
  fatctx_load_event told = {};
  told.struct_size = sizeof told;
  told.kind = static_cast<std::uint32_t>(event.kind);
  told.record = text_out(event.record);
  told.unit = text_out(event.unit);
  told.graph = text_out(event.graph);
  fatctx_error error = {};
  error.struct_size = sizeof error;
  if (event.error) {
    (void)write_error(&error, *event.error);
    told.error = &error;
  }
  quietly([&] { notify(user, &told); });
}

Result<LoadOptions> options_in(const fatctx_load_options* options) {
  fatctx_load_options given = {};
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  LoadOptions result;
  FATCTX_ASSIGN(result.model, model_options_in(given.model));
  result.prefetch = given.prefetch != 0;
  if (given.notify != nullptr) {
    result.notify = [notify = given.notify, user = given.user](const LoadEvent& event) { tell(notify, user, event); };
  }
  if (given.progress != nullptr) result.progress = progress_in(given.progress, given.user);
  return result;
}

void tell_finished(fatctx_load_finished finished, void* user, std::size_t index, const Result<Session>& result) {
  fatctx_session session = {};
  fatctx_error error = {};
  error.struct_size = sizeof error;
  const std::int32_t code = make_handle(&session, "session", &error, [&]() -> Result<Session> { return result; });
  quietly([&] { finished(user, index, session, code == FATCTX_OK ? nullptr : &error); });
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

void fatctx_source_init(fatctx_source* source, size_t struct_size) {
  fatctx_source result = {};
  result.descriptor = -1;
  init_sized(result, source, struct_size);
}

void fatctx_load_options_init(fatctx_load_options* options, size_t struct_size) {
  init_sized(fatctx_load_options{}, options, struct_size);
}

int32_t fatctx_load(const fatctx_source* source, const fatctx_load_options* options, fatctx_session* session,
                    fatctx_error* error) {
  return make_handle(session, "session", error, [&]() -> fatctx::Result<fatctx::Session> {
    FATCTX_ASSIGN(const fatctx::Source from, source_in(source));
    FATCTX_ASSIGN(const fatctx::LoadOptions given, options_in(options));
    return fatctx::load(from, given);
  });
}

int32_t fatctx_load_signal_create(uint64_t timeout_ms, fatctx_load_signal* signal, fatctx_error* error) {
  return make_handle(signal, "signal", error, [&]() -> fatctx::Result<fatctx::LoadSignal> {
    FATCTX_ASSIGN(const std::chrono::milliseconds timeout, timeout_in(timeout_ms));
    return fatctx::LoadSignal(timeout);
  });
}

int32_t fatctx_load_signal_cancel(fatctx_load_signal signal, fatctx_error* error) {
  return with_object(signal, error, [](fatctx::LoadSignal& object) -> fatctx::Status {
    object.cancel();
    return fatctx::Done{};
  });
}

int32_t fatctx_load_signal_set_timeout(fatctx_load_signal signal, uint64_t timeout_ms, fatctx_error* error) {
  return with_object(signal, error, [&](fatctx::LoadSignal& object) -> fatctx::Status {
    FATCTX_ASSIGN(const std::chrono::milliseconds timeout, timeout_in(timeout_ms));
    return object.set_timeout(timeout);
  });
}

int32_t fatctx_load_signal_reset(fatctx_load_signal signal, fatctx_error* error) {
  return with_object(signal, error, [](fatctx::LoadSignal& object) { return object.reset(); });
}

int32_t fatctx_load_signal_state(fatctx_load_signal signal, uint32_t* cancelled, uint32_t* in_use,
                                 fatctx_error* error) {
  return with_object(signal, error, [&](const fatctx::LoadSignal& object) -> fatctx::Status {
    FATCTX_TRY(not_null(cancelled, "cancelled"));
    FATCTX_TRY(not_null(in_use, "in_use"));
    *cancelled = flag(object.cancelled());
    *in_use = flag(object.in_use());
    return fatctx::Done{};
  });
}

int32_t fatctx_load_signal_close(fatctx_load_signal signal, fatctx_error* error) { return close_handle(signal, error); }

int32_t fatctx_load_list_start(const fatctx_load_item* items, uint64_t count, uint32_t threads, fatctx_load_list* list,
                               fatctx_error* error) {
  return make_handle(list, "list", error, [&]() -> fatctx::Result<fatctx::LoadList> {
    FATCTX_ASSIGN(const auto given, array_in(items, count, "items"));
    std::vector<fatctx::LoadItem> passed;
    for (const fatctx_load_item& item : given) {
      FATCTX_ASSIGN(fatctx::Source source, source_in(item.source));
      FATCTX_ASSIGN(fatctx::LoadOptions options, options_in(item.options));
      passed.push_back({.source = std::move(source), .options = std::move(options), .finished = {}});
      if (item.finished == nullptr) continue;
      passed.back().finished = [finished = item.finished, user = item.user](
                                   std::size_t index, const fatctx::Result<fatctx::Session>& result) {
        tell_finished(finished, user, index, result);
      };
    }
    return fatctx::load_all(std::move(passed), {.threads = threads});
  });
}

int32_t fatctx_load_list_cancel(fatctx_load_list list, fatctx_error* error) {
  return with_object(list, error, [](fatctx::LoadList& object) -> fatctx::Status {
    object.cancel();
    return fatctx::Done{};
  });
}

int32_t fatctx_load_list_wait(fatctx_load_list list, fatctx_error* error) {
  return with_object(list, error, [](fatctx::LoadList& object) { return object.wait(); });
}

int32_t fatctx_load_list_state(fatctx_load_list list, uint64_t* size, uint64_t* finished, fatctx_error* error) {
  return with_object(list, error, [&](const fatctx::LoadList& object) -> fatctx::Status {
    FATCTX_TRY(not_null(size, "size"));
    FATCTX_TRY(not_null(finished, "finished"));
    *size = object.size();
    *finished = object.finished_count();
    return fatctx::Done{};
  });
}

int32_t fatctx_load_list_result(fatctx_load_list list, uint64_t index, fatctx_session* session, fatctx_error* error) {
  return make_handle(session, "session", error, [&]() -> fatctx::Result<fatctx::Session> {
    FATCTX_ASSIGN(const auto object, find(list));
    FATCTX_TRY(not_null(session, "session"));
    return object->result(
        static_cast<std::size_t>(std::min<std::uint64_t>(index, std::numeric_limits<std::size_t>::max())));
  });
}

int32_t fatctx_load_list_close(fatctx_load_list list, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    if (list.id == 0) return fatctx::Done{};
    FATCTX_ASSIGN(const std::shared_ptr<void> taken, HandleTable::process().take(Kind::kLoadList, list.id));
    static_cast<fatctx::LoadList*>(taken.get())->cancel();  // also if another call still has a share in it
    return fatctx::Done{};
  });
}

}  // extern "C"
