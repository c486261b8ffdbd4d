#include "tools/pack_run.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/print.h"
#include "tools/progress.h"

namespace fatctx::tools {

namespace {

PackedRecord packed_record(const PackRecord& record) {
  const std::string features = fmt::format("{}", fmt::join(record.key.features, ","));
  SelectionKey key;
  key.backend = record.key.backend;
  key.qnn_soc = record.key.qnn_soc;
  key.part = record.key.part;
  key.arch = record.key.arch;
  key.features = features;
  key.vtcm_mb = record.key.vtcm_mb;
  key.sdk = record.key.sdk;
  key.variant = record.key.variant;
  key.generic = record.key.generic;
  PackedRecord packed;
  packed.name = record.name;
  packed.type = record.type;
  if (!key.backend.empty()) packed.target = target_text(key);
  packed.tensor_count = record.tensors.size();
  packed.weights = record.weights;
  std::error_code missing;  // the packer says what is wrong with a file that is not there
  const auto size = std::filesystem::file_size(record.source.path, missing);
  if (!missing) packed.size_bytes = size;
  return packed;
}

}  // namespace

Result<PackSummary> pack_manifest(PackRequest request) {
  std::error_code status;
  if (!request.force && std::filesystem::exists(std::filesystem::symlink_status(request.output, status))) {
    return Error{ErrorCode::kExists, fmt::format("{}: is there already; --force replaces it", request.output)};
  }
  FATCTX_ASSIGN(GatheredRecords gathered, gather_records(request.manifest, std::move(request.models)));

  ProgressLine line("pack");
  PackOptions options;
  options.seal = request.seal;
  options.overwrite = request.force;
  options.model_name = request.manifest.name;
  options.options = request.manifest.options;
  options.progress = line.callback();
  Packer packer(std::move(options));
  PackSummary summary;
  summary.notes = std::move(gathered.notes);
  for (std::size_t i = 0; i < gathered.records.size(); ++i) {
    summary.records.push_back(packed_record(gathered.records[i]));
    auto added = packer.add(std::move(gathered.records[i]));
    if (!added.ok()) return in_context(std::move(added).error(), request.manifest.records[i].where);
  }
  auto report = packer.publish(request.output);
  if (!report.ok()) return in_context(std::move(report).error(), request.output);
  summary.report = std::move(report).value();
  summary.notes.insert(summary.notes.end(), summary.report.warnings.begin(), summary.report.warnings.end());
  return summary;
}

std::string summary_text(const PackSummary& summary) {
  const PackReport& report = summary.report;
  std::string text = fmt::format("{}: {}, {}\n", escaped(report.path), size_text(report.file_size),
                                 report.sealed ? "sealed" : "not sealed");
  Block block;
  block.add("uuid", report.uuid);
  block.add("records", report.shared_records == 0 ? fmt::format("{}", report.record_count)
                                                  : fmt::format("{}, {} of them equal to another and stored once",
                                                                report.record_count, report.shared_records));
  block.add("payload", fmt::format("{} of {}", size_text(report.stored_bytes), size_text(report.input_bytes)));
  text += block.text();
  Table table({{"name"}, {"type"}, {"target"}, {"size", Table::Align::kRight}, {"tensors", Table::Align::kRight}});
  for (const PackedRecord& record : summary.records) {
    table.add_row({record.name, std::string(record_type_name(record.type)), record.target, size_text(record.size_bytes),
                   record.tensor_count == 0 ? std::string() : grouped(record.tensor_count)});
  }
  return text + table.text("  ");
}

nlohmann::ordered_json summary_json(const PackSummary& summary) {
  const PackReport& report = summary.report;
  nlohmann::ordered_json json;
  json["schema"] = "fatctx.pack/1";
  json["path"] = report.path;
  json["uuid"] = report.uuid;
  json["file_size"] = report.file_size;
  json["input_bytes"] = report.input_bytes;
  json["stored_bytes"] = report.stored_bytes;
  json["record_count"] = report.record_count;
  json["shared_records"] = report.shared_records;
  json["sealed"] = report.sealed;
  json["records"] = nlohmann::ordered_json::array();
  for (const PackedRecord& record : summary.records) {
    nlohmann::ordered_json row;
    row["name"] = record.name;
    row["type"] = record_type_name(record.type);
    row["target"] = record.target;
    row["size_bytes"] = record.size_bytes;
    row["tensor_count"] = record.tensor_count;
    row["weights"] = record.weights;
    json["records"].push_back(std::move(row));
  }
  json["notes"] = summary.notes;
  return json;
}

}  // namespace fatctx::tools
