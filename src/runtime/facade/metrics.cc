#include "fatctx/metrics.h"

#include "base/json.h"
#include "container/format/hash.h"
#include "container/read/pieces.h"
#include "fatctx/model.h"
#include "mapping/residency.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/open/registry.h"
#include "runtime/view/composed_view.h"
#include "runtime/view/stitched_view.h"

namespace fatctx {
namespace {

std::optional<std::uint64_t> known(Result<std::uint64_t> result) {
  return result.ok() ? std::optional(result.value()) : std::nullopt;
}

Result<std::uint64_t> resident_in(ByteView whole, std::span<const container::Piece> pieces) {
  std::uint64_t resident = 0;
  for (const container::Piece& piece : pieces) {
    FATCTX_ASSIGN(const ByteView bytes, slice(whole, piece.in_file));
    FATCTX_ASSIGN(const std::uint64_t in_memory, mapping::resident_bytes(bytes));
    resident += in_memory;
  }
  return resident;
}

void add_range(ContainerMetrics& metrics, ByteView bytes) {
  const auto use = mapping::use_of_map(bytes);
  if (!use.ok() || !metrics.resident_bytes) return;
  *metrics.resident_bytes += use.value().resident;
  *metrics.proportional_bytes += use.value().proportional;
  *metrics.locked_bytes += use.value().locked;
}

ContainerMetrics metrics_of(const MappedContainer& mapped) {
  ContainerMetrics metrics;
  metrics.path = mapped.name();
  metrics.uuid = container::uuid_text(mapped.header().uuid);
  metrics.generation = mapped.header().generation;
  const mapping::MappedRegion* region = mapped.region();
  const ByteView bytes = region == nullptr ? ByteView() : region->bytes();
  metrics.mapped_bytes = bytes.size();
  if (region != nullptr) {
    if (const auto use = mapping::use_of_map(bytes); use.ok()) {
      metrics.resident_bytes = use.value().resident;
      metrics.proportional_bytes = use.value().proportional;
      metrics.locked_bytes = use.value().locked;
    }
  }
  metrics.sessions = mapped.attachments().sessions().load(std::memory_order_relaxed);
  for (const RecordInfo* one : mapped.known_records()) {
    const RecordInfo& info = *one;
    RecordMetrics record;
    record.id = info.id;
    record.name = info.name;
    record.size_bytes = info.size_bytes;
    record.verification = mapped.verification_of(info);
    if (const auto composed = live_composed(mapped, info.id)) {
      record.composed_bytes = composed->memory_bytes();
      metrics.composed_bytes += composed->memory_bytes();
      record.cached_bytes = composed->cached_bytes();
      metrics.cached_bytes += composed->cached_bytes();
      if (composed->cached() != nullptr) record.cache_file = composed->cached()->path;
      record.cache_rejected = composed->rejected();
      add_range(metrics, composed->region().bytes());
      record.resident_bytes = known(mapping::resident_bytes(composed->region().bytes()));
    } else if (const auto stitched = info.slice_count > 1 ? live_stitched(mapped, info.id) : nullptr) {
      metrics.stitched_bytes += stitched->bytes().size();
      add_range(metrics, stitched->bytes());
      record.resident_bytes = known(mapping::resident_bytes(stitched->bytes()));
    } else if (region != nullptr && !info.recipe) {
      record.resident_bytes = known(resident_in(bytes, container::pieces_of(mapped.toc(), info)));
    }
    if (const Attachments::OfRecord* holders = mapped.attachments().find(mapped.toc().index_of(info))) {
      record.views = holders->views.load(std::memory_order_relaxed);
      record.sessions = holders->sessions.load(std::memory_order_relaxed);
    }
    metrics.views += record.views;
    if (record.sessions > 1) metrics.saved_bytes += (record.sessions - 1) * info.size_bytes;
    metrics.records.push_back(std::move(record));
  }
  return metrics;
}

std::string_view state_name(RecordState state) {
  switch (state) {
    case RecordState::kUnknown:
      return "unknown";
    case RecordState::kOk:
      return "ok";
    case RecordState::kBad:
      return "bad";
  }
  return "unknown";
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json fields_of(const ContainerMetrics& metrics) {
  Json records = Json::array();
  for (const RecordMetrics& record : metrics.records) {
    records.push_back({{"id", record.id},
                       {"name", record.name},
                       {"size_bytes", record.size_bytes},
                       {"resident_bytes", record.resident_bytes},
                       {"verification", state_name(record.verification)},
                       {"views", record.views},
                       {"sessions", record.sessions},
                       {"composed_bytes", record.composed_bytes},
                       {"cached_bytes", record.cached_bytes},
                       {"cache_file", text_or_null(record.cache_file)},
                       {"cache_rejected", text_or_null(record.cache_rejected)}});
  }
  return {{"path", metrics.path},
          {"uuid", metrics.uuid},
          {"generation", metrics.generation},
          {"mapped_bytes", metrics.mapped_bytes},
          {"stitched_bytes", metrics.stitched_bytes},
          {"composed_bytes", metrics.composed_bytes},
          {"cached_bytes", metrics.cached_bytes},
          {"resident_bytes", metrics.resident_bytes},
          {"proportional_bytes", metrics.proportional_bytes},
          {"locked_bytes", metrics.locked_bytes},
          {"sessions", metrics.sessions},
          {"views", metrics.views},
          {"saved_bytes", metrics.saved_bytes},
          {"records", std::move(records)}};
}

}  // namespace

ContainerMetrics container_metrics(const Container& container) { return metrics_of(*mapped_of(container)); }

RuntimeMetrics runtime_metrics() {
  RuntimeMetrics metrics;
  metrics.view_cache = view_cache_counts();
  for (const auto& mapped : Registry::process().live()) {
    ContainerMetrics one = metrics_of(*mapped);
    if (one.mapped_bytes != 0) ++metrics.live_mappings;
    metrics.mapped_bytes += one.mapped_bytes;
    metrics.sessions += one.sessions;
    metrics.saved_bytes += one.saved_bytes;
    metrics.containers.push_back(std::move(one));
  }
  return metrics;
}

std::string to_json(const ContainerMetrics& metrics) {
  return write_json({{"schema", "fatctx.metrics/1"}, {"container", fields_of(metrics)}});
}

std::string to_json(const RuntimeMetrics& metrics) {
  Json containers = Json::array();
  for (const ContainerMetrics& container : metrics.containers) containers.push_back(fields_of(container));
  return write_json({{"schema", "fatctx.metrics/1"},
                     {"runtime",
                      {{"live_mappings", metrics.live_mappings},
                       {"mapped_bytes", metrics.mapped_bytes},
                       {"sessions", metrics.sessions},
                       {"saved_bytes", metrics.saved_bytes},
                       {"view_cache",
                        {{"used", metrics.view_cache.used},
                         {"made", metrics.view_cache.made},
                         {"rejected", metrics.view_cache.rejected},
                         {"evicted", metrics.view_cache.evicted}}},
                       {"containers", std::move(containers)}}}});
}

}  // namespace fatctx
