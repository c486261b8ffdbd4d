#include "tools/pack/pack_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/interrupt.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/pack/gather.h"

namespace fatctx::tools {

namespace {

// Below this size, a binary's code may well be larger than the weights that it shares.
constexpr std::uint64_t kFewWeights = std::uint64_t{1} << 20;

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
  packed.group = record.key.group;
  packed.unit = record.key.unit;
  packed.type = record.type;
  if (!key.backend.empty()) packed.target = target_text(key);
  packed.tensor_count = record.tensors.size();
  packed.weights = record.weights;
  packed.size_bytes = record.source.bytes.size();
  if (record.source.path.empty()) return packed;
  std::error_code missing;  // the packer reports a missing file
  const auto size = std::filesystem::file_size(record.source.path, missing);
  if (!missing) packed.size_bytes = record.source.part ? record.source.part->size : size;
  return packed;
}

// Copies the packer's report for the requested records; it lists others too.
void add_what_was_stored(PackSummary& summary) {
  std::map<std::string_view, const PackedRecordReport*> by_name;
  for (const PackedRecordReport& record : summary.report.records) by_name.emplace(record.name, &record);
  for (PackedRecord& record : summary.records) record.stored = *by_name.at(record.name);
}

std::string form_text(const PackedRecord& record) {
  if (record.stored.recipe_steps == 0) return record.stored.stored_bytes == 0 ? "another record" : "itself";
  return fmt::format("recipe of {} {}, {} can be mapped", grouped(record.stored.recipe_steps),
                     record.stored.recipe_steps == 1 ? "step" : "steps", size_text(record.stored.mappable_bytes));
}

using SizesByName = std::map<std::string_view, std::uint64_t>;

std::uint64_t size_of_weights(const PackedRecord& binary, const SizesByName& blobs) {
  std::uint64_t size = 0;
  for (const std::string& name : binary.weights) {
    if (const auto blob = blobs.find(name); blob != blobs.end()) size += blob->second;
  }
  return size;
}

}  // namespace

Result<PackSummary> pack_manifest(PackRequest request) {
  std::error_code status;
  if (!request.force && std::filesystem::exists(std::filesystem::symlink_status(request.output, status))) {
    return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", request.output)};
  }
  FATCTX_ASSIGN(GatheredRecords gathered, gather_records(request.manifest, std::move(request.models)));
  for (const PackRecord& record : gathered.records) {
    FATCTX_TRY(check_is_no_input(request.output, {{"source of record \"" + record.name + "\"", record.source.path}}));
  }

  ProgressLine line("pack");
  PackOptions options;
  options.seal = request.seal;
  options.overwrite = request.force;
  options.model_name = request.manifest.name;
  options.options = request.manifest.options;
  const SharingWish& file = request.manifest.sharing;
  const SharingWish& flags = request.sharing;
  options.sharing = flags.sharing.value_or(file.sharing.value_or(options.sharing));
  options.max_pieces = flags.max_pieces.value_or(file.max_pieces.value_or(options.max_pieces));
  if (flags.max_pieces && options.sharing != Sharing::kPages) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("--max-pieces is about --sharing pages, and this file is packed with --sharing {}; leave one "
                    "of them out",
                    sharing_name(options.sharing))};
  }
  options.granule_log2 = flags.granule_log2.value_or(file.granule_log2.value_or(options.granule_log2));
  options.threads = request.threads;
  options.explain_sharing = request.explain_sharing;
  options.one_per_soc = request.one_per_soc;
  options.strict_sharing = request.strict_sharing;
  options.sha256 = request.sha256;
  options.progress = line.callback();
  const Interrupt interrupt;
  options.cancel = interrupt.flag();
  PackSummary summary;
  summary.sharing = options.sharing;
  Packer packer(std::move(options));
  summary.notes = std::move(request.manifest.notes);
  summary.notes.insert(summary.notes.end(), gathered.notes.begin(), gathered.notes.end());
  for (std::size_t i = 0; i < gathered.records.size(); ++i) {
    summary.records.push_back(packed_record(gathered.records[i]));
    auto added = packer.add(std::move(gathered.records[i]));
    if (!added.ok()) return in_context(std::move(added).error(), request.manifest.records[i].where);
  }
  auto report = packer.publish(request.output);
  if (!report.ok()) return in_context(std::move(report).error(), request.output);
  summary.report = std::move(report).value();
  add_what_was_stored(summary);
  summary.notes.insert(summary.notes.end(), summary.report.warnings.begin(), summary.report.warnings.end());
  return summary;
}

std::vector<std::string> what_was_not_shared(const PackSummary& summary) {
  SizesByName blob_sizes;
  for (const PackedRecord& record : summary.records) {
    if (record.type == RecordType::kWeightBlob) blob_sizes.emplace(record.name, record.size_bytes);
  }
  std::map<std::pair<std::string, std::string>, std::vector<const PackedRecord*>> groups;
  std::vector<std::string> lines;
  for (const PackedRecord& record : summary.records) {
    if (record.type != RecordType::kContextBinary) continue;
    if (record.weights.empty()) {
      groups[{record.group, record.unit}].push_back(&record);
      continue;
    }
    const std::uint64_t weights = size_of_weights(record, blob_sizes);
    // A compiler that cannot share with the blob names it nevertheless, and leaves the weights in the binary
    // too.
    if (weights < kFewWeights || record.size_bytes < weights / 2 || record.stored.stored_bytes <= record.size_bytes / 2)
      continue;
    lines.push_back(fmt::format(
        "record \"{}\" refers to {} of weights, but stores {} of {} by itself; compile with a target of its generation "
        "first",
        record.name, size_text(weights), size_text(record.stored.stored_bytes), size_text(record.size_bytes)));
  }
  for (const auto& [key, records] : groups) {
    const PackedRecord* base = *std::min_element(
        records.begin(), records.end(),
        [](const PackedRecord* a, const PackedRecord* b) { return a->stored.sharing_order < b->stored.sharing_order; });
    for (const PackedRecord* record : records) {
      if (record == base || record->stored.stored_bytes <= record->size_bytes / 2) continue;
      const PackedRecordReport& stored = record->stored;
      lines.push_back(
          fmt::format("record \"{}\" stores {} of {} again: about {} are in another record too, but shifted within a "
                      "page, {} are there "
                      "in another order (re-tiled), and {} are different",
                      record->name, size_text(stored.stored_bytes), size_text(record->size_bytes),
                      size_text(stored.shifted_bytes), size_text(stored.reordered_bytes),
                      size_text(stored.stored_bytes - stored.shifted_bytes - stored.reordered_bytes)));
    }
  }
  return lines;
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
  // The extra columns appear only if a record has pieces or a recipe, or if sharing by bytes was requested.
  const bool by_pages = std::any_of(summary.report.records.begin(), summary.report.records.end(),
                                    [](const PackedRecordReport& record) { return record.pieces > 1; });
  const bool by_bytes = summary.sharing == Sharing::kBytes ||
                        std::any_of(summary.report.records.begin(), summary.report.records.end(),
                                    [](const PackedRecordReport& record) { return record.recipe_steps != 0; });
  if (by_pages || by_bytes) block.add("shared", size_text(report.shared_bytes));
  text += block.text();
  std::vector<Table::Column> columns = {
      {"name"}, {"type"}, {"target"}, {"size", Table::Align::kRight}, {"tensors", Table::Align::kRight}};
  if (by_pages || by_bytes) columns.push_back({"shared", Table::Align::kRight});
  if (by_pages) columns.push_back({"pieces", Table::Align::kRight});
  if (by_bytes) columns.push_back({"stored as", Table::Align::kLeft});
  Table table(columns);
  for (const PackedRecord& record : summary.records) {
    std::vector<std::string> row = {record.name, std::string(record_type_name(record.type)), record.target,
                                    size_text(record.size_bytes),
                                    record.tensor_count == 0 ? std::string() : grouped(record.tensor_count)};
    if (by_pages || by_bytes)
      row.push_back(record.stored.shared_bytes == 0 ? std::string() : size_text(record.stored.shared_bytes));
    if (by_pages) row.push_back(grouped(record.stored.pieces));
    if (by_bytes) row.push_back(form_text(record));
    table.add_row(std::move(row));
  }
  return text + table.text("  ");
}

Json summary_json(const PackSummary& summary) {
  Json records = Json::array();
  for (const PackedRecord& record : summary.records) {
    records.push_back({{"name", record.name},
                       {"type", record_type_name(record.type)},
                       {"target", record.target},
                       {"size_bytes", record.size_bytes},
                       {"stored_bytes", record.stored.stored_bytes},
                       {"shared_bytes", record.stored.shared_bytes},
                       {"shifted_bytes", record.stored.shifted_bytes},
                       {"pieces", record.stored.pieces},
                       {"recipe_steps", record.stored.recipe_steps},
                       {"recipe_bytes", record.stored.recipe_bytes},
                       {"mappable_bytes", record.stored.mappable_bytes},
                       {"tensor_count", record.tensor_count},
                       {"weights", record.weights}});
  }
  const PackReport& report = summary.report;
  return {{"schema", "fatctx.pack/1"},
          {"path", report.path},
          {"uuid", report.uuid},
          {"file_size", report.file_size},
          {"input_bytes", report.input_bytes},
          {"stored_bytes", report.stored_bytes},
          {"shared_bytes", report.shared_bytes},
          {"record_count", report.record_count},
          {"shared_records", report.shared_records},
          {"sealed", report.sealed},
          {"records", std::move(records)},
          {"notes", summary.notes}};
}

}  // namespace fatctx::tools
