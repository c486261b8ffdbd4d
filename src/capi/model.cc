// Models and sessions through C: choose, explain, hand out.
#include <fmt/format.h>

#include "capi/callers_memory.h"
#include "capi/objects.h"

namespace fatctx::capi {
namespace {

Result<RecordView> chosen_binary(const Source& source, const ModelOptions& options, const char* unit) {
  FATCTX_ASSIGN(const Model model, Model::open(source, options));
  FATCTX_ASSIGN(const Session session, model.begin_session());
  return session.binary(text_in(unit));
}

fatctx_session_record record_out(const SessionRecord& record) noexcept {
  fatctx_session_record out = {};
  out.type = static_cast<std::uint32_t>(record.type);
  out.record_id = record.view.record_id();
  out.access_path = static_cast<std::uint32_t>(record.view.access_path());
  out.name = text_out(record.name);
  out.unit = text_out(record.unit);
  out.size = record.view.size_bytes();
  return out;
}

Result<const std::vector<SessionRecord>*> records_in(const Session& session, std::uint32_t part) {
  if (part == FATCTX_SESSION_BINARIES) return &session.binaries();
  if (part == FATCTX_SESSION_WEIGHTS) return &session.weights();
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("part is {}; allowed are FATCTX_SESSION_BINARIES (0) and FATCTX_SESSION_WEIGHTS (1)", part)};
}

}  // namespace

}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_model_open(const char* path, const fatctx_model_options* options, fatctx_model* model,
                          fatctx_error* error) {
  return make_handle(model, "model", error, [&]() -> fatctx::Result<fatctx::Model> {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_ASSIGN(const fatctx::ModelOptions chosen, model_options_in(options));
    return fatctx::Model::open(path, chosen);
  });
}

int32_t fatctx_model_choose(fatctx_container container, const fatctx_model_options* options, fatctx_model* model,
                            fatctx_error* error) {
  return make_handle(model, "model", error, [&]() -> fatctx::Result<fatctx::Model> {
    FATCTX_ASSIGN(const auto object, find(container));
    FATCTX_ASSIGN(const fatctx::ModelOptions chosen, model_options_in(options));
    return fatctx::Model::choose(object->container, chosen);
  });
}

int32_t fatctx_model_close(fatctx_model model, fatctx_error* error) { return close_handle(model, error); }

int32_t fatctx_model_container(fatctx_model model, fatctx_container* container, fatctx_error* error) {
  return make_handle(container, "container", error, [&]() -> fatctx::Result<fatctx::Container> {
    FATCTX_ASSIGN(const auto object, find(model));
    if (const fatctx::Container* container = object->container()) return *container;
    return fatctx::Error{fatctx::ErrorCode::kNotFound, fmt::format("{}: a {} has no container", object->path(),
                                                                   fatctx::model_format_name(object->format()))};
  });
}

int32_t fatctx_model_device(fatctx_model model, fatctx_device* device, fatctx_error* error) {
  return make_handle(device, "device", error, [&]() -> fatctx::Result<fatctx::Detection> {
    FATCTX_ASSIGN(const auto object, find(model));
    return detection_of(object->device());
  });
}

int32_t fatctx_model_selection(fatctx_model model, fatctx_selection* selection, fatctx_error* error) {
  return with_object(model, error, [&](const fatctx::Model& object) {
    const fatctx::Selection& made = object.selection();
    fatctx_selection filled = {};
    filled.level = static_cast<std::uint32_t>(made.level);
    filled.tier = made.tier;
    filled.chosen_count = static_cast<std::uint32_t>(made.chosen.size());
    filled.chosen = made.chosen.data();
    filled.verdict_count = made.verdicts.size();
    filled.warning_count = made.warnings.size();
    filled.group = text_out(made.group);
    filled.damaged_count = made.damaged.size();
    return write_sized(filled, selection, "selection");
  });
}

int32_t fatctx_model_verdict(fatctx_model model, uint64_t index, fatctx_verdict* verdict, fatctx_error* error) {
  return with_object(model, error, [&](const fatctx::Model& object) -> fatctx::Status {
    FATCTX_ASSIGN(const fatctx::Verdict* const found, item_at(object.selection().verdicts, index, "verdict"));
    fatctx_verdict filled = {};
    filled.record_id = found->record_id;
    filled.level = static_cast<std::uint32_t>(found->level);
    filled.tier = found->tier;
    filled.axis = static_cast<std::uint32_t>(found->axis);
    filled.chosen = flag(found->chosen);
    return write_sized(filled, verdict, "verdict");
  });
}

int32_t fatctx_model_warning(fatctx_model model, uint64_t index, fatctx_text* text, fatctx_error* error) {
  return with_object(model, error, [&](const fatctx::Model& object) -> fatctx::Status {
    FATCTX_TRY(not_null(text, "text"));
    FATCTX_ASSIGN(const std::string* const found, item_at(object.selection().warnings, index, "warning"));
    *text = text_out(*found);
    return fatctx::Done{};
  });
}

int32_t fatctx_model_damaged(fatctx_model model, uint64_t index, fatctx_error* damage, fatctx_error* error) {
  return with_object(model, error, [&](const fatctx::Model& object) -> fatctx::Status {
    FATCTX_TRY(not_null(damage, "damage"));
    FATCTX_TRY(check_struct_size(damage->struct_size));
    FATCTX_ASSIGN(const fatctx::DamagedRecord* const found,
                  item_at(object.selection().damaged, index, "damaged record"));
    (void)write_error(damage, found->error);
    return fatctx::Done{};
  });
}

int32_t fatctx_model_begin_session(fatctx_model model, fatctx_session* session, fatctx_error* error) {
  return make_handle(session, "session", error, [&]() -> fatctx::Result<fatctx::Session> {
    FATCTX_ASSIGN(const auto object, find(model));
    return object->begin_session();
  });
}

int32_t fatctx_session_close(fatctx_session session, fatctx_error* error) { return close_handle(session, error); }

int32_t fatctx_session_await_checks(fatctx_session session, fatctx_error* error) {
  return with_object(session, error, [&](const fatctx::Session& object) { return object.await_checks(); });
}

int32_t fatctx_session_end(fatctx_session session, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    if (session.id == 0) return fatctx::Done{};
    FATCTX_ASSIGN(const std::shared_ptr<void> object,
                  HandleTable::process().take(Behind<fatctx_session>::kKind, session.id));
    fatctx::Session ended = *static_cast<const fatctx::Session*>(object.get());
    return ended.end();
  });
}

int32_t fatctx_session_binary(fatctx_session session, const char* unit, fatctx_view* view, fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::RecordView> {
    FATCTX_ASSIGN(const auto object, find(session));
    return object->binary(text_in(unit));
  });
}

int32_t fatctx_session_describe(fatctx_session session, fatctx_session_info* info, fatctx_error* error) {
  return with_object(session, error, [&](const fatctx::Session& object) {
    const fatctx::Model& model = object.model();
    fatctx_session_info filled = {};
    filled.format = static_cast<std::uint32_t>(model.format());
    filled.binary_count = object.binaries().size();
    filled.weights_count = object.weights().size();
    filled.path = text_out(model.path());
    filled.selected = flag(model.format() != fatctx::ModelFormat::kRawBinary);
    if (filled.selected != 0) filled.level = static_cast<std::uint32_t>(model.selection().level);
    return write_sized(filled, info, "info");
  });
}

int32_t fatctx_session_record_at(fatctx_session session, uint32_t part, uint64_t index, fatctx_session_record* record,
                                 fatctx_error* error) {
  return with_object(session, error, [&](const fatctx::Session& object) -> fatctx::Status {
    FATCTX_TRY(not_null(record, "record"));
    FATCTX_ASSIGN(const std::vector<fatctx::SessionRecord>* const records, records_in(object, part));
    FATCTX_ASSIGN(const fatctx::SessionRecord* const found, item_at(*records, index, "record"));
    return write_sized(record_out(*found), record, "record");
  });
}

int32_t fatctx_session_model(fatctx_session session, fatctx_model* model, fatctx_error* error) {
  return make_handle(model, "model", error, [&]() -> fatctx::Result<fatctx::Model> {
    FATCTX_ASSIGN(const auto object, find(session));
    return object->model();
  });
}

int32_t fatctx_session_weights(fatctx_session session, uint64_t index, fatctx_view* view, fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::RecordView> {
    FATCTX_ASSIGN(const auto object, find(session));
    FATCTX_ASSIGN(const fatctx::SessionRecord* const found, item_at(object->weights(), index, "weight blob"));
    return found->view;
  });
}

int32_t fatctx_session_tensor(fatctx_session session, const char* name, fatctx_view* view, fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::WeightView> {
    FATCTX_ASSIGN(const auto object, find(session));
    FATCTX_TRY(not_null(name, "name"));
    return object->weight(name);
  });
}

int32_t fatctx_view_open(const char* path, const fatctx_model_options* options, const char* unit, fatctx_view* view,
                         fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::RecordView> {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_ASSIGN(const fatctx::ModelOptions chosen, model_options_in(options));
    return chosen_binary(path, chosen, unit);
  });
}

int32_t fatctx_view_open_memory(const void* bytes, uint64_t size, const fatctx_model_options* options, const char* unit,
                                fatctx_release release, void* user, fatctx_view* view, fatctx_error* error) {
  return make_handle_over_memory({bytes, size, release, user}, view, "view", error,
                                 [&](const fatctx::Source& source) -> fatctx::Result<fatctx::RecordView> {
                                   FATCTX_ASSIGN(const fatctx::ModelOptions chosen, model_options_in(options));
                                   return chosen_binary(source, chosen, unit);
                                 });
}

}  // extern "C"
