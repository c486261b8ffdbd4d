// Fetches through C.
#include <algorithm>
#include <utility>

#include "capi/objects.h"

namespace fatctx::capi {
namespace {

Status add_texts(const char* const* texts, std::uint64_t count, std::string_view name, std::vector<std::string>& into) {
  if (count != 0) FATCTX_TRY(not_null(texts, name));
  for (std::uint64_t i = 0; i < count; ++i) {
    FATCTX_TRY(not_null(texts[i], name));
    into.emplace_back(texts[i]);
  }
  return Done{};
}

Result<FetchOptions> fetch_options_in(const fatctx_fetch_options* options) {
  fatctx_fetch_options given = {};
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  FetchOptions result;
  result.all = given.all != 0;
  result.metadata = given.metadata != 0;
  result.more = given.more != 0;
  result.overwrite = given.overwrite != 0;
  result.policy.group = text_in(given.group);
  if (given.gap_bytes != 0) result.gap_bytes = given.gap_bytes;
  FATCTX_TRY(add_texts(given.records, given.record_count, "a name of records", result.records));
  FATCTX_TRY(add_texts(given.seeds, given.seed_count, "a path of seeds", result.seeds));
  if (given.device_count != 0) FATCTX_TRY(not_null(given.devices, "devices"));
  for (std::uint64_t i = 0; i < given.device_count; ++i) {
    FATCTX_ASSIGN(const auto detection, find(given.devices[i]));
    result.devices.push_back(detection->device);
  }
  FATCTX_ASSIGN(OpenOptions open, open_options_in(given.open));
  result.trusted_keys = std::move(open.trusted_keys);
  result.minimum_generation = open.minimum_generation;
  return result;
}

fatctx_fetch_report report_out(const FetchPlan& plan) {
  const FetchReport& report = plan.report();
  fatctx_fetch_report out = {};
  out.stage = static_cast<std::uint32_t>(plan.stage());
  out.generation = report.generation;
  out.record_count = report.records.size();
  out.source_bytes = report.source_bytes;
  out.needed_bytes = report.needed_bytes;
  out.present_bytes = report.present_bytes;
  out.reused_bytes = report.reused_bytes;
  out.fetched_bytes = report.fetched_bytes;
  out.missing_bytes = plan.missing_bytes();
  out.degraded_count = report.degraded.size();
  return out;
}

// The plan of a handle, if it was neither published nor discarded.
template <typename Body>
std::int32_t with_plan(fatctx_fetch_plan plan, fatctx_error* error, const Body& body) noexcept {
  return with_writer(plan, "plan of a fetch", error, [&](FetchPlanObject& object) -> Status {
    if (!object.ended) return body(object);
    return Error{ErrorCode::kOperationNotPermitted, "this plan has published or discarded its file; begin another one"};
  });
}

Status use_blocks(FetchPlan& plan, const char* index) { return plan.use_blocks(index); }
Status use_update(FetchPlan& plan, const char* update) { return plan.use_update(update); }

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

const char* fatctx_fetch_stage_name(uint32_t stage) {
  return stage > FATCTX_FETCH_DONE ? "unknown"
                                   : fatctx::fetch_stage_name(static_cast<fatctx::FetchStage>(stage)).data();
}

int32_t fatctx_fetch_plan_begin(const char* path, uint64_t source_bytes, const fatctx_fetch_options* options,
                                fatctx_fetch_plan* plan, fatctx_error* error) {
  return make_handle(plan, "plan", error, [&]() -> fatctx::Result<fatctx::FetchPlan> {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_ASSIGN(fatctx::FetchOptions wanted, fetch_options_in(options));
    return fatctx::FetchPlan::begin(path, source_bytes, std::move(wanted));
  });
}

int32_t fatctx_fetch_plan_wanted(fatctx_fetch_plan plan, fatctx_file_range* ranges, uint64_t capacity, uint64_t* count,
                                 fatctx_error* error) {
  return with_plan(plan, error, [&](const FetchPlanObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(count, "count"));
    if (capacity != 0) FATCTX_TRY(not_null(ranges, "ranges"));
    const std::vector<fatctx::ByteRange> wanted = object.plan.wanted();
    for (std::size_t i = 0; i < std::min<std::uint64_t>(capacity, wanted.size()); ++i) {
      ranges[i] = {wanted[i].offset, wanted[i].size};
    }
    *count = wanted.size();
    return fatctx::Done{};
  });
}

int32_t fatctx_fetch_plan_take(fatctx_fetch_plan plan, uint64_t offset, const void* bytes, uint64_t size,
                               fatctx_error* error) {
  return with_plan(plan, error, [&](FetchPlanObject& object) -> fatctx::Status {
    if (size != 0) FATCTX_TRY(not_null(bytes, "bytes"));
    return object.plan.take(offset, {static_cast<const std::byte*>(bytes), static_cast<std::size_t>(size)});
  });
}

int32_t fatctx_fetch_plan_use(fatctx_fetch_plan plan, const char* path, fatctx_error* error) {
  return with_plan(plan, error, [&](FetchPlanObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    for (const auto use : {&use_blocks, &use_update}) {
      auto used = use(object.plan, path);
      if (used.ok() || used.error().code != fatctx::ErrorCode::kBadMagic) return used;
    }
    return object.plan.use(path);
  });
}

int32_t fatctx_fetch_plan_report(fatctx_fetch_plan plan, fatctx_fetch_report* report, fatctx_error* error) {
  return with_writer(plan, "plan of a fetch", error, [&](const FetchPlanObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(report, "report"));
    return write_sized(report_out(object.plan), report, "report");
  });
}

int32_t fatctx_fetch_plan_publish(fatctx_fetch_plan plan, fatctx_error* error) {
  return with_plan(plan, error, [&](FetchPlanObject& object) -> fatctx::Status {
    FATCTX_TRY(object.plan.publish());
    object.ended = true;
    return fatctx::Done{};
  });
}

int32_t fatctx_fetch_plan_discard(fatctx_fetch_plan plan, fatctx_error* error) {
  return with_plan(plan, error, [&](FetchPlanObject& object) -> fatctx::Status {
    object.plan.discard();
    object.ended = true;
    return fatctx::Done{};
  });
}

int32_t fatctx_fetch_plan_close(fatctx_fetch_plan plan, fatctx_error* error) { return close_handle(plan, error); }

}  // extern "C"
