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
                 fmt::format("timeout_ms is {}; at most {} are counted, and 0 is no limit", timeout_ms, kMost)};
  }
  return std::chrono::milliseconds(timeout_ms);
}

Result<LoadSource> source_in(const fatctx_load_source* source) {
  FATCTX_TRY(not_null(source, "source"));
  fatctx_load_source given = {};
  fatctx_load_source_init(&given, sizeof given);
  FATCTX_TRY(read_sized(source, given));
  const int ways = (given.path != nullptr ? 1 : 0) + (given.descriptor >= 0 ? 1 : 0) + (given.bytes != nullptr ? 1 : 0);
  if (ways != 1) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the source has {} of path, descriptor and bytes; give one of them", ways)};
  }
  if (given.path != nullptr) return LoadSource(given.path);
  if (given.bytes == nullptr) {
    return LoadSource::descriptor(given.descriptor, {.offset = given.offset, .size = given.size});
  }
  FATCTX_ASSIGN(const ByteView bytes, bytes_in(given.bytes, given.bytes_size, "bytes"));
  return LoadSource::memory(bytes);
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
  if (given.raw_binaries > FATCTX_RAW_BINARIES_REFUSE) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("raw_binaries is {}; allowed are FATCTX_RAW_BINARIES_KNOWN (0), _ANY (1) and _REFUSE (2)",
                             given.raw_binaries)};
  }
  LoadOptions result;
  FATCTX_ASSIGN(result.model, model_options_in(given.model));
  result.raw_binaries = static_cast<RawBinaries>(given.raw_binaries);
  result.prefetch = given.prefetch != 0;
  if (given.signal.id != 0) {
    FATCTX_ASSIGN(const auto signal, find(given.signal));
    result.signal = *signal;
  }
  if (given.notify != nullptr) {
    result.notify = [notify = given.notify, user = given.user](const LoadEvent& event) { tell(notify, user, event); };
  }
  if (given.progress != nullptr) result.progress = progress_in(given.progress, given.user);
  return result;
}

void tell_finished(fatctx_load_finished finished, void* user, std::size_t index, const Result<LoadedContext>& result) {
  fatctx_loaded loaded = {};
  fatctx_error error = {};
  error.struct_size = sizeof error;
  const std::int32_t code = make_handle(&loaded, "loaded", &error, [&]() -> Result<LoadedContext> { return result; });
  quietly([&] { finished(user, index, loaded, code == FATCTX_OK ? nullptr : &error); });
}

fatctx_loaded_record record_out(const LoadedRecord& record) noexcept {
  fatctx_loaded_record out = {};
  out.type = static_cast<std::uint32_t>(record.type);
  out.record_id = record.view.record_id();
  out.access_path = static_cast<std::uint32_t>(record.view.access_path());
  out.name = text_out(record.name);
  out.unit = text_out(record.unit);
  out.graph_count = record.graphs.size();
  out.size = record.view.size_bytes();
  return out;
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

void fatctx_load_source_init(fatctx_load_source* source, size_t struct_size) {
  fatctx_load_source result = {};
  result.descriptor = -1;
  init_sized(result, source, struct_size);
}

void fatctx_load_options_init(fatctx_load_options* options, size_t struct_size) {
  init_sized(fatctx_load_options{}, options, struct_size);
}

int32_t fatctx_load(const fatctx_load_source* source, const fatctx_load_options* options, fatctx_loaded* loaded,
                    fatctx_error* error) {
  return make_handle(loaded, "loaded", error, [&]() -> fatctx::Result<fatctx::LoadedContext> {
    FATCTX_ASSIGN(const fatctx::LoadSource from, source_in(source));
    FATCTX_ASSIGN(const fatctx::LoadOptions given, options_in(options));
    return fatctx::load_context(from, given);
  });
}

int32_t fatctx_loaded_describe(fatctx_loaded loaded, fatctx_loaded_info* info, fatctx_error* error) {
  return with_object(loaded, error, [&](const fatctx::LoadedContext& object) {
    fatctx_loaded_info filled = {};
    filled.format = static_cast<std::uint32_t>(object.format());
    filled.binary_count = object.binaries().size();
    filled.weights_count = object.weights().size();
    filled.path = text_out(object.path());
    if (const fatctx::Selection* selection = object.selection()) {
      filled.selected = 1;
      filled.level = static_cast<std::uint32_t>(selection->level);
    }
    return write_sized(filled, info, "info");
  });
}

int32_t fatctx_loaded_binary_at(fatctx_loaded loaded, uint64_t index, fatctx_loaded_record* record,
                                fatctx_error* error) {
  return with_object(loaded, error, [&](const fatctx::LoadedContext& object) -> fatctx::Status {
    FATCTX_TRY(not_null(record, "record"));
    FATCTX_ASSIGN(const fatctx::LoadedRecord* const found, item_at(object.binaries(), index, "context binary"));
    return write_sized(record_out(*found), record, "record");
  });
}

int32_t fatctx_loaded_weights_at(fatctx_loaded loaded, uint64_t index, fatctx_loaded_record* record,
                                 fatctx_error* error) {
  return with_object(loaded, error, [&](const fatctx::LoadedContext& object) -> fatctx::Status {
    FATCTX_TRY(not_null(record, "record"));
    FATCTX_ASSIGN(const fatctx::LoadedRecord* const found, item_at(object.weights(), index, "weight blob"));
    return write_sized(record_out(*found), record, "record");
  });
}

int32_t fatctx_loaded_graph(fatctx_loaded loaded, uint64_t binary, uint64_t index, fatctx_text* name,
                            fatctx_error* error) {
  return with_object(loaded, error, [&](const fatctx::LoadedContext& object) -> fatctx::Status {
    FATCTX_TRY(not_null(name, "name"));
    FATCTX_ASSIGN(const fatctx::LoadedRecord* const found, item_at(object.binaries(), binary, "context binary"));
    FATCTX_ASSIGN(const std::string* const graph, item_at(found->graphs, index, "graph"));
    *name = text_out(*graph);
    return fatctx::Done{};
  });
}

int32_t fatctx_loaded_binary(fatctx_loaded loaded, const char* unit, fatctx_view* view, fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::RecordView> {
    FATCTX_ASSIGN(const auto object, find(loaded));
    return object->binary(text_in(unit));
  });
}

int32_t fatctx_loaded_weights(fatctx_loaded loaded, uint64_t index, fatctx_view* view, fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::RecordView> {
    FATCTX_ASSIGN(const auto object, find(loaded));
    FATCTX_ASSIGN(const fatctx::LoadedRecord* const found, item_at(object->weights(), index, "weight blob"));
    return found->view;
  });
}

int32_t fatctx_loaded_model(fatctx_loaded loaded, fatctx_model* model, fatctx_error* error) {
  return make_handle(model, "model", error, [&]() -> fatctx::Result<fatctx::Model> {
    FATCTX_ASSIGN(const auto object, find(loaded));
    if (const fatctx::Model* chosen = object->model()) return *chosen;
    return fatctx::Error{fatctx::ErrorCode::kNotFound,
                         fmt::format("{}: a {} has no model; only a container has one", object->path(),
                                     fatctx::loaded_format_name(object->format()))};
  });
}

int32_t fatctx_loaded_explain(fatctx_loaded loaded, uint32_t format, char* buffer, size_t capacity, size_t* size,
                              fatctx_error* error) {
  return with_object(loaded, error, [&](const fatctx::LoadedContext& object) -> fatctx::Status {
    FATCTX_ASSIGN(const bool json, wants_json(format));
    return put_text(json ? object.explain_json() : object.explain(), buffer, capacity, size);
  });
}

int32_t fatctx_loaded_close(fatctx_loaded loaded, fatctx_error* error) { return close_handle(loaded, error); }

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
      FATCTX_ASSIGN(fatctx::LoadSource source, source_in(item.source));
      FATCTX_ASSIGN(fatctx::LoadOptions options, options_in(item.options));
      passed.push_back({.source = std::move(source), .options = std::move(options), .finished = {}});
      if (item.finished == nullptr) continue;
      passed.back().finished = [finished = item.finished, user = item.user](
                                   std::size_t index, const fatctx::Result<fatctx::LoadedContext>& result) {
        tell_finished(finished, user, index, result);
      };
    }
    return fatctx::load_contexts(std::move(passed), {.threads = threads});
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

int32_t fatctx_load_list_result(fatctx_load_list list, uint64_t index, fatctx_loaded* loaded, fatctx_error* error) {
  return make_handle(loaded, "loaded", error, [&]() -> fatctx::Result<fatctx::LoadedContext> {
    FATCTX_ASSIGN(const auto object, find(list));
    FATCTX_TRY(not_null(loaded, "loaded"));
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
