// Metrics through C: a handle is the numbers of one moment.
#include "fatctx/metrics.h"

#include "capi/objects.h"

namespace fatctx::capi {
namespace {

RuntimeMetrics of_one(ContainerMetrics container) {
  RuntimeMetrics sums;
  sums.live_mappings = container.mapped_bytes != 0 ? 1 : 0;
  sums.mapped_bytes = container.mapped_bytes;
  sums.sessions = container.sessions;
  sums.saved_bytes = container.saved_bytes;
  sums.view_cache = view_cache_counts();
  sums.containers.push_back(std::move(container));
  return sums;
}

void put(const std::optional<std::uint64_t>& value, std::uint64_t& out, std::uint32_t& has) noexcept {
  out = value.value_or(0);
  has = flag(value.has_value());
}

fatctx_container_metrics container_out(const ContainerMetrics& metrics) noexcept {
  fatctx_container_metrics out = {};
  out.sessions = metrics.sessions;
  out.path = text_out(metrics.path);
  out.uuid = text_out(metrics.uuid);
  out.generation = metrics.generation;
  out.mapped_bytes = metrics.mapped_bytes;
  put(metrics.resident_bytes, out.resident_bytes, out.has_resident_bytes);
  put(metrics.proportional_bytes, out.proportional_bytes, out.has_proportional_bytes);
  put(metrics.locked_bytes, out.locked_bytes, out.has_locked_bytes);
  out.views = metrics.views;
  out.saved_bytes = metrics.saved_bytes;
  out.record_count = metrics.records.size();
  out.stitched_bytes = metrics.stitched_bytes;
  out.composed_bytes = metrics.composed_bytes;
  out.cached_bytes = metrics.cached_bytes;
  return out;
}

std::uint32_t verification_out(RecordState state) noexcept {
  switch (state) {
    case RecordState::kUnknown:
      return FATCTX_VERIFICATION_UNKNOWN;
    case RecordState::kOk:
      return FATCTX_VERIFICATION_OK;
    case RecordState::kBad:
      return FATCTX_VERIFICATION_BAD;
  }
  return FATCTX_VERIFICATION_UNKNOWN;
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_metrics_of_container(fatctx_container container, fatctx_metrics* metrics, fatctx_error* error) {
  return make_handle(metrics, "metrics", error, [&]() -> fatctx::Result<MetricsObject> {
    FATCTX_ASSIGN(const auto object, find(container));
    return MetricsObject{of_one(fatctx::container_metrics(object->container)), false};
  });
}

int32_t fatctx_metrics_of_runtime(fatctx_metrics* metrics, fatctx_error* error) {
  return make_handle(metrics, "metrics", error, [&]() -> fatctx::Result<MetricsObject> {
    return MetricsObject{fatctx::runtime_metrics(), true};
  });
}

int32_t fatctx_metrics_runtime(fatctx_metrics metrics, fatctx_runtime_metrics* runtime, fatctx_error* error) {
  return with_object(metrics, error, [&](const MetricsObject& object) {
    fatctx_runtime_metrics filled = {};
    filled.sessions = object.numbers.sessions;
    filled.live_mappings = object.numbers.live_mappings;
    filled.mapped_bytes = object.numbers.mapped_bytes;
    filled.saved_bytes = object.numbers.saved_bytes;
    filled.container_count = object.numbers.containers.size();
    filled.cache_files_used = object.numbers.view_cache.used;
    filled.cache_files_made = object.numbers.view_cache.made;
    filled.cache_files_rejected = object.numbers.view_cache.rejected;
    filled.cache_files_evicted = object.numbers.view_cache.evicted;
    return write_sized(filled, runtime, "runtime");
  });
}

int32_t fatctx_metrics_container(fatctx_metrics metrics, uint64_t index, fatctx_container_metrics* container,
                                 fatctx_error* error) {
  return with_object(metrics, error, [&](const MetricsObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(container, "container"));
    FATCTX_ASSIGN(const fatctx::ContainerMetrics* const found, item_at(object.numbers.containers, index, "container"));
    return write_sized(container_out(*found), container, "container");
  });
}

int32_t fatctx_metrics_record(fatctx_metrics metrics, uint64_t container_index, uint64_t index,
                              fatctx_record_metrics* record, fatctx_error* error) {
  return with_object(metrics, error, [&](const MetricsObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(record, "record"));
    FATCTX_ASSIGN(const fatctx::ContainerMetrics* const container,
                  item_at(object.numbers.containers, container_index, "container"));
    FATCTX_ASSIGN(const fatctx::RecordMetrics* const found, item_at(container->records, index, "record"));
    fatctx_record_metrics filled = {};
    filled.id = found->id;
    filled.name = text_out(found->name);
    filled.size_bytes = found->size_bytes;
    put(found->resident_bytes, filled.resident_bytes, filled.has_resident_bytes);
    filled.verification = verification_out(found->verification);
    filled.views = found->views;
    filled.sessions = found->sessions;
    filled.composed_bytes = found->composed_bytes;
    filled.cached_bytes = found->cached_bytes;
    filled.cache_file = text_out(found->cache_file);
    filled.cache_rejected = text_out(found->cache_rejected);
    return write_sized(filled, record, "record");
  });
}

int32_t fatctx_metrics_json(fatctx_metrics metrics, char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return with_object(metrics, error, [&](const MetricsObject& object) {
    return put_text(
        object.of_runtime ? fatctx::to_json(object.numbers) : fatctx::to_json(object.numbers.containers.front()),
        buffer, capacity, size);
  });
}

int32_t fatctx_metrics_close(fatctx_metrics metrics, fatctx_error* error) { return close_handle(metrics, error); }

}  // extern "C"
