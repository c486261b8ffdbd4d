// What records have in common, through C.
#include "capi/objects.h"

namespace fatctx::capi {

SharingObject::SharingObject(SharingReport measured) : report(std::move(measured)) {
  for (const RecordSharing& record : report.records) {
    std::vector<fatctx_shared_bytes>& sharers = shared_with.emplace_back();
    for (const SharedBytes& sharer : record.shared_with) sharers.push_back({sharer.record_id, 0, sharer.bytes});
  }
}

namespace {

fatctx_sharing_info info_out(const SharingReport& report) noexcept {
  const SharingTotals& totals = report.totals;
  fatctx_sharing_info out = {};
  out.record_count = static_cast<std::uint32_t>(report.records.size());
  out.layout_group_count = static_cast<std::uint32_t>(report.layout_groups.size());
  out.target_count = static_cast<std::uint32_t>(report.targets.size());
  out.input_bytes = totals.input_bytes;
  out.off_bytes = totals.off_bytes;
  out.stored_bytes = totals.stored_bytes;
  out.pages_4k_bytes = totals.pages[0].bytes;
  out.pages_16k_bytes = totals.pages[1].bytes;
  out.pages_64k_bytes = totals.pages[2].bytes;
  out.bytes_at_most = totals.bytes_at_most;
  return out;
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_container_sharing(fatctx_container container, fatctx_progress progress, void* user,
                                 fatctx_sharing* sharing, fatctx_error* error) {
  return make_handle(sharing, "sharing", error, [&]() -> fatctx::Result<fatctx::SharingReport> {
    FATCTX_ASSIGN(const auto object, find(container));
    return fatctx::measure_sharing(object->container, progress_in(progress, user));
  });
}

int32_t fatctx_sharing_describe(fatctx_sharing sharing, fatctx_sharing_info* info, fatctx_error* error) {
  return with_object(sharing, error,
                     [&](const SharingObject& object) { return write_sized(info_out(object.report), info, "info"); });
}

int32_t fatctx_sharing_record(fatctx_sharing sharing, uint64_t index, fatctx_record_sharing* record,
                              fatctx_error* error) {
  return with_object(sharing, error, [&](const SharingObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(record, "record"));
    FATCTX_ASSIGN(const fatctx::RecordSharing* const found, item_at(object.report.records, index, "record"));
    const std::vector<fatctx_shared_bytes>& sharers = object.shared_with[static_cast<std::size_t>(index)];
    fatctx_record_sharing filled = {};
    filled.record_id = found->record_id;
    filled.size_bytes = found->size_bytes;
    filled.own_bytes = found->own_bytes;
    filled.shared_bytes = found->shared_bytes;
    filled.repeated_bytes = found->repeated_bytes;
    filled.shared_with = sharers.data();
    filled.shared_with_count = static_cast<std::uint32_t>(sharers.size());
    filled.sharer_count = found->sharer_count;
    filled.pieces = found->pieces;
    filled.layout_group = found->layout_group.value_or(FATCTX_UNKNOWN);
    filled.composed_bytes = found->composed_bytes;
    return write_sized(filled, record, "record");
  });
}

int32_t fatctx_sharing_layout_group(fatctx_sharing sharing, uint64_t index, fatctx_layout_group* group,
                                    fatctx_error* error) {
  return with_object(sharing, error, [&](const SharingObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(group, "group"));
    FATCTX_ASSIGN(const fatctx::SharingLayoutGroup* const found,
                  item_at(object.report.layout_groups, index, "layout group"));
    fatctx_layout_group filled = {};
    filled.record_count = static_cast<std::uint32_t>(found->records.size());
    filled.records = found->records.data();
    filled.size_bytes = found->size_bytes;
    filled.stored_bytes = found->stored_bytes;
    filled.distinct_bytes = found->distinct_bytes;
    return write_sized(filled, group, "group");
  });
}

int32_t fatctx_sharing_target(fatctx_sharing sharing, uint64_t index, fatctx_target_sharing* target,
                              fatctx_error* error) {
  return with_object(sharing, error, [&](const SharingObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(target, "target"));
    FATCTX_ASSIGN(const fatctx::TargetSharing* const found, item_at(object.report.targets, index, "target"));
    fatctx_target_sharing filled = {};
    filled.record_count = static_cast<std::uint32_t>(found->records.size());
    filled.target = text_out(found->target);
    filled.records = found->records.data();
    filled.alone_bytes = found->alone_bytes;
    return write_sized(filled, target, "target");
  });
}

int32_t fatctx_sharing_close(fatctx_sharing sharing, fatctx_error* error) { return close_handle(sharing, error); }

}  // extern "C"
