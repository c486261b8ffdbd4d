// Reports through C: a handle is the JSON of one moment, or of work that was done once.
#include <fmt/format.h>

#include "capi/objects.h"
#include "capi/report_json.h"
#include "fatctx/diff.h"
#include "fatctx/info.h"
#include "fatctx/metrics.h"
#include "fatctx/sharing.h"
#include "runtime/inspect/sharing_json.h"

namespace fatctx::capi {

Result<std::string> ReportObject::text(std::uint32_t format) const {
  const auto* const profile = std::get_if<Profile>(&contents);
  switch (format) {
    case FATCTX_FORMAT_JSON:
      if (profile != nullptr) return profile_json(*profile);
      if (const auto* const rewrite = std::get_if<RewriteReport>(&contents)) return rewrite_json(*rewrite);
      return std::get<std::string>(contents);
    case FATCTX_FORMAT_CSV:
      if (profile != nullptr) return profile->csv();
      return Error{ErrorCode::kUnsupported,
                   "only a profile has comma-separated values; ask for FATCTX_FORMAT_JSON (1)"};
    case FATCTX_FORMAT_TEXT:
      return Error{ErrorCode::kUnsupported, "a report has no text for people; ask for FATCTX_FORMAT_JSON (1)"};
    default:
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("format is {}; allowed are FATCTX_FORMAT_JSON (1) and, of a profile, _CSV (2)", format)};
  }
}

namespace {

Result<std::string> sharing_report_json(const ContainerObject& measured, const SharingReport& report) {
  Json json = {{"schema", "fatctx.sharing/1"}, {"file", measured.container.path()}};
  FATCTX_ASSIGN(const auto records, measured.container.records());
  const Json numbers = sharing_json(report, records);
  for (const Json::Member& member : *numbers.members()) json.add(member.key, member.value);
  return write_json(json);
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_report_text(fatctx_report report, uint32_t format, char* buffer, size_t capacity, size_t* size,
                           fatctx_error* error) {
  return with_object(report, error, [&](const ReportObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const std::string text, object.text(format));
    return put_text(text, buffer, capacity, size);
  });
}

int32_t fatctx_report_close(fatctx_report report, fatctx_error* error) { return close_handle(report, error); }

int32_t fatctx_container_sharing(fatctx_container container, fatctx_progress progress, void* user,
                                 fatctx_report* report, fatctx_error* error) {
  return make_handle(report, "report", error, [&]() -> fatctx::Result<std::string> {
    FATCTX_ASSIGN(const auto object, find(container));
    FATCTX_ASSIGN(const fatctx::SharingReport measured,
                  fatctx::measure_sharing(object->container, progress_in(progress, user)));
    return sharing_report_json(*object, measured);
  });
}

int32_t fatctx_container_diff(fatctx_container before, fatctx_container after, fatctx_progress progress, void* user,
                              uint32_t* same, fatctx_report* report, fatctx_error* error) {
  return make_handle(report, "report", error, [&]() -> fatctx::Result<std::string> {
    FATCTX_ASSIGN(const auto first, find(before));
    FATCTX_ASSIGN(const auto second, find(after));
    FATCTX_ASSIGN(const fatctx::DiffReport found,
                  fatctx::diff(first->container, second->container, progress_in(progress, user)));
    if (same != nullptr) *same = flag(found.same());
    return fatctx::to_json(found);
  });
}

int32_t fatctx_metrics_of_container(fatctx_container container, fatctx_report* report, fatctx_error* error) {
  return make_handle(report, "report", error, [&]() -> fatctx::Result<std::string> {
    FATCTX_ASSIGN(const auto object, find(container));
    return fatctx::to_json(fatctx::container_metrics(object->container));
  });
}

int32_t fatctx_metrics_of_runtime(fatctx_report* report, fatctx_error* error) {
  return make_handle(report, "report", error,
                     []() -> fatctx::Result<std::string> { return fatctx::to_json(fatctx::runtime_metrics()); });
}

int32_t fatctx_layout_json(char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return guarded(error, [&] { return put_text(fatctx::layout_json(), buffer, capacity, size); });
}

}  // extern "C"
