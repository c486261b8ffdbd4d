// Two containers compared, through C.
#include "fatctx/diff.h"

#include "capi/objects.h"

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_diff_create(fatctx_container before, fatctx_container after, fatctx_progress progress, void* user,
                           fatctx_diff* diff, fatctx_error* error) {
  return make_handle(diff, "diff", error, [&]() -> fatctx::Result<fatctx::DiffReport> {
    FATCTX_ASSIGN(const auto first, find(before));
    FATCTX_ASSIGN(const auto second, find(after));
    return fatctx::diff(first->container, second->container, progress_in(progress, user));
  });
}

int32_t fatctx_diff_describe(fatctx_diff diff, fatctx_diff_info* info, fatctx_error* error) {
  return with_object(diff, error, [&](const fatctx::DiffReport& report) {
    fatctx_diff_info filled = {};
    filled.same = flag(report.same());
    filled.same_record_count = report.same_records;
    filled.record_count = report.records.size();
    filled.description_count = report.description.size();
    filled.before_record_bytes_in_both = report.before.record_bytes_in_both;
    filled.after_record_bytes_in_both = report.after.record_bytes_in_both;
    filled.before_stored_bytes_in_both = report.before.stored_bytes_in_both;
    filled.after_stored_bytes_in_both = report.after.stored_bytes_in_both;
    filled.read_bytes = report.read_bytes;
    return write_sized(filled, info, "info");
  });
}

int32_t fatctx_diff_record(fatctx_diff diff, uint64_t index, fatctx_diffed_record* record, fatctx_error* error) {
  return with_object(diff, error, [&](const fatctx::DiffReport& report) -> fatctx::Status {
    FATCTX_TRY(not_null(record, "record"));
    FATCTX_ASSIGN(const fatctx::RecordDifference* const found, item_at(report.records, index, "difference"));
    fatctx_diffed_record filled = {};
    filled.change = static_cast<std::uint32_t>(found->change);
    filled.type = static_cast<std::uint32_t>(found->type);
    filled.id_before = found->before.id;
    filled.id_after = found->after.id;
    filled.tensor_count = static_cast<std::uint32_t>(found->tensors.size());
    filled.name_before = text_out(found->before.name);
    filled.name_after = text_out(found->after.name);
    filled.target_before = text_out(found->before.target);
    filled.target_after = text_out(found->after.target);
    filled.size_before = found->before.size_bytes;
    filled.size_after = found->after.size_bytes;
    return write_sized(filled, record, "record");
  });
}

int32_t fatctx_diff_json(fatctx_diff diff, char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return with_object(diff, error, [&](const fatctx::DiffReport& report) {
    return put_text(fatctx::to_json(report), buffer, capacity, size);
  });
}

int32_t fatctx_diff_close(fatctx_diff diff, fatctx_error* error) { return close_handle(diff, error); }

}  // extern "C"
