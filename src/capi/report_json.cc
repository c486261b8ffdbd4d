#include "capi/report_json.h"

#include "base/json.h"

namespace fatctx::capi {
namespace {

Json record_json(const PackedRecordReport& record) {
  return {{"id", record.id},
          {"name", record.name},
          {"size_bytes", record.size_bytes},
          {"stored_bytes", record.stored_bytes},
          {"shared_bytes", record.shared_bytes},
          {"shifted_bytes", record.shifted_bytes},
          {"pieces", record.pieces},
          {"recipe_steps", record.recipe_steps},
          {"recipe_bytes", record.recipe_bytes},
          {"mappable_bytes", record.mappable_bytes},
          {"sharing_order", record.sharing_order}};
}

Json records_json(const std::vector<PackedRecordReport>& records) {
  Json rows = Json::array();
  for (const PackedRecordReport& record : records) rows.push_back(record_json(record));
  return rows;
}

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json or_null(std::uint32_t number) { return number == 0 ? Json() : Json(number); }

}  // namespace

std::string packed_json(const PackReport& report) {
  return write_json({{"schema", "fatctx.packed/1"},
                     {"path", report.path},
                     {"uuid", report.uuid},
                     {"sealed", report.sealed},
                     {"file_size", report.file_size},
                     {"input_bytes", report.input_bytes},
                     {"stored_bytes", report.stored_bytes},
                     {"shared_bytes", report.shared_bytes},
                     {"record_count", report.record_count},
                     {"shared_records", report.shared_records},
                     {"records", records_json(report.records)},
                     {"notes", report.warnings}});
}

std::string append_json(const AppendReport& report) {
  return write_json({{"schema", "fatctx.appended/1"},
                     {"path", report.path},
                     {"uuid", report.uuid},
                     {"generation", report.generation},
                     {"file_size_before", report.file_size_before},
                     {"file_size", report.file_size},
                     {"input_bytes", report.input_bytes},
                     {"stored_bytes", report.stored_bytes},
                     {"shared_bytes", report.shared_bytes},
                     {"dead_bytes", report.dead_bytes},
                     {"records", records_json(report.records)},
                     {"superseded", report.superseded},
                     {"restored", report.restored},
                     {"notes", report.warnings}});
}

std::string rewrite_json(const RewriteReport& report) {
  Json sources = Json::array();
  for (const RewriteSource& source : report.sources) {
    sources.push_back({{"path", source.path},
                       {"generation", source.generation},
                       {"file_size", source.file_size},
                       {"dead_bytes", source.dead_bytes},
                       {"record_count", source.record_count}});
  }
  return write_json({{"schema", "fatctx.rewrite/1"},
                     {"path", report.pack.path},
                     {"uuid", report.pack.uuid},
                     {"generation", report.generation},
                     {"file_size", report.pack.file_size},
                     {"sealed", report.pack.sealed},
                     {"record_count", report.pack.record_count},
                     {"shared_records", report.pack.shared_records},
                     {"input_bytes", report.pack.input_bytes},
                     {"stored_bytes", report.pack.stored_bytes},
                     {"shared_bytes", report.pack.shared_bytes},
                     {"sources", std::move(sources)},
                     {"records", records_json(report.pack.records)},
                     {"removed", report.removed},
                     {"unused_weights", report.unused},
                     {"notes", report.pack.warnings}});
}

std::string profile_json(const Profile& profile) {
  Json totals = Json::array();
  for (const ProfileTotal& total : profile.totals) {
    totals.push_back({{"event", profile_event_name(total.kind)},
                      {"count", total.count},
                      {"failed", total.failed},
                      {"total_ns", total.total_ns},
                      {"longest_ns", total.longest_ns},
                      {"bytes", total.bytes}});
  }
  Json events = Json::array();
  for (const ProfileEvent& event : profile.events) {
    events.push_back({{"event", profile_event_name(event.kind)},
                      {"start_ns", event.start_ns},
                      {"duration_ns", event.duration_ns},
                      {"bytes", event.bytes},
                      {"thread", event.thread},
                      {"ok", event.ok},
                      {"path", event.path},
                      {"record_id", or_null(event.record_id)},
                      {"record", or_null(event.record)}});
  }
  return write_json({{"schema", "fatctx.profile/1"},
                     {"level", profile_level_name(profile.level)},
                     {"totals", std::move(totals)},
                     {"events", std::move(events)},
                     {"dropped_events", profile.dropped_events}});
}

std::string stored_dlcs_json(const std::string& file, const std::vector<StoredDlc>& stored) {
  Json rows = Json::array();
  for (const StoredDlc& dlc : stored) {
    rows.push_back({{"layout", dlc.layout},
                    {"layout_id", dlc.layout_id},
                    {"size_bytes", dlc.size_bytes},
                    {"records", dlc.records}});
  }
  return write_json({{"schema", "fatctx.stored_dlcs/1"}, {"file", file}, {"dlcs", std::move(rows)}});
}

std::string tensors_json(const std::string& file, const WeightFile& weights) {
  Json tensors = Json::array();
  for (const PackTensor& tensor : weights.imported.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", dtype_name(tensor.dtype)},
                       {"shape", tensor.shape},
                       {"offset", tensor.offset_in_blob},
                       {"size_bytes", tensor.size_bytes},
                       {"alias", tensor.alias}});
  }
  Json options = Json::array();
  for (const DescribedOption& option : weights.imported.options) {
    options.push_back({{"key", option.key}, {"value", option.value}, {"owner", option.owner}});
  }
  return write_json({{"schema", "fatctx.tensors/1"},
                     {"file", file},
                     {"format", weights.format},
                     {"file_size", weights.imported.file_size},
                     {"data_offset", weights.imported.data.offset},
                     {"data_size", weights.imported.data.size},
                     {"tensors", std::move(tensors)},
                     {"options", std::move(options)},
                     {"splat_count", weights.splat_count}});
}

}  // namespace fatctx::capi
