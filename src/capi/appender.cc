// Appending through C.
#include <fmt/format.h>

#include "capi/objects.h"
#include "capi/report_json.h"

namespace fatctx::capi {
namespace {

Result<AppendOptions> append_options_in(const fatctx_append_options* options) {
  fatctx_append_options given = {};
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  AppendOptions result;
  result.replace = given.replace != 0;
  result.threads = given.threads;
  result.one_per_soc = given.one_per_soc != 0;
  result.strict_sharing = given.strict_sharing != 0;
  if (given.sharing > FATCTX_SHARING_BYTES) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("sharing is {}; allowed are 0, FATCTX_SHARING_PAGES (1) and _BYTES (2)", given.sharing)};
  }
  if (given.sharing != 0) result.sharing = static_cast<Sharing>(given.sharing);
  result.progress = progress_in(given.progress, given.progress_user);
  return result;
}

fatctx_append_report report_out(const AppendReport& report) noexcept {
  fatctx_append_report out = {};
  out.record_count = static_cast<std::uint32_t>(report.records.size());
  out.generation = report.generation;
  out.file_size_before = report.file_size_before;
  out.file_size = report.file_size;
  out.input_bytes = report.input_bytes;
  out.stored_bytes = report.stored_bytes;
  out.shared_bytes = report.shared_bytes;
  out.dead_bytes = report.dead_bytes;
  out.superseded_count = static_cast<std::uint32_t>(report.superseded.size());
  out.restored_count = static_cast<std::uint32_t>(report.restored.size());
  out.warning_count = static_cast<std::uint32_t>(report.warnings.size());
  report.uuid.copy(out.uuid, sizeof out.uuid - 1);
  return out;
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_appender_open(const char* path, const fatctx_append_options* options, fatctx_appender* appender,
                             fatctx_error* error) {
  return make_handle(appender, "appender", error, [&]() -> fatctx::Result<fatctx::Appender> {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_ASSIGN(const fatctx::AppendOptions wanted, append_options_in(options));
    return fatctx::Appender::open(path, wanted);
  });
}

int32_t fatctx_appender_add(fatctx_appender appender, const fatctx_pack_record* record, fatctx_error* error) {
  return with_appender(appender, error, [&](AppenderObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(fatctx::PackRecord owned, pack_record_in(record));
    return object.appender.add(std::move(owned));
  });
}

int32_t fatctx_appender_note(fatctx_appender appender, const char* record_name, const fatctx_evidence_note* note,
                             fatctx_error* error) {
  return with_appender(appender, error, [&](AppenderObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(record_name, "record_name"));
    FATCTX_TRY(not_null(note, "note"));
    fatctx_evidence_note given = {};
    FATCTX_TRY(read_sized(note, given));
    return object.appender.note(record_name, {.device = text_in(given.device),
                                              .tool = text_in(given.tool),
                                              .metric = text_in(given.metric),
                                              .value = text_in(given.value),
                                              .date = text_in(given.date)});
  });
}

int32_t fatctx_appender_commit(fatctx_appender appender, fatctx_append_report* report, fatctx_error* error) {
  return with_appender(appender, error, [&](AppenderObject& object) -> fatctx::Status {
    if (report != nullptr) FATCTX_TRY(check_struct_size(report->struct_size));  // before the file is written
    // Kept if a second commit is refused: what the first one gave is still borrowed.
    FATCTX_ASSIGN(object.report, object.appender.commit());
    if (report != nullptr) FATCTX_TRY(write_sized(report_out(object.report), report, "report"));
    return fatctx::Done{};
  });
}

int32_t fatctx_appender_report_json(fatctx_appender appender, char* buffer, size_t capacity, size_t* size,
                                    fatctx_error* error) {
  return with_appender(appender, error, [&](const AppenderObject& object) -> fatctx::Status {
    if (object.report.path.empty()) return fatctx::Error{fatctx::ErrorCode::kNotFound, "nothing was committed"};
    return put_text(append_json(object.report), buffer, capacity, size);
  });
}

int32_t fatctx_appender_close(fatctx_appender appender, fatctx_error* error) { return close_handle(appender, error); }

}  // extern "C"
