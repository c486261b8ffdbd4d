#include "tools/pack/gather.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/device.h"
#include "fatctx/import_gguf.h"
#include "fatctx/import_irpa.h"
#include "fatctx/import_safetensors.h"
#include "tools/facts/described_graphs.h"
#include "tools/facts/htp_checks.h"
#include "tools/facts/json_file.h"
#include "tools/facts/provider_options.h"
#include "tools/facts/qnn_operators.h"
#include "tools/onnx/onnx_weights.h"
#include "tools/pack/manifest_ranges.h"

namespace fatctx::tools {
namespace {

constexpr std::uint64_t kMaxDescribedModel = std::uint64_t{256} << 20;  // it is parsed in memory

Status gather_irpa(const ManifestTensors& from, const OnnxModels& models, PackRecord& record,
                   std::vector<std::string>& notes) {
  FATCTX_ASSIGN(IrpaTensors imported, tensors_from_irpa(record.source.path));
  record.tensors = std::move(imported.tensors);
  if (imported.splat_count != 0) {
    notes.push_back(fmt::format("{}: {} of {} entries are patterns without bytes and not in the tensor table",
                                record.name, imported.splat_count, imported.splat_count + record.tensors.size()));
  }
  if (from.shapes_from.empty()) return Done{};
  FATCTX_ASSIGN(const std::uint64_t unshaped,
                give_shapes(models.at(from.shapes_from), from.shapes_from, record.tensors));
  if (unshaped != 0) {
    notes.push_back(fmt::format("{}: {} of {} tensors are not among the initializers of {} and stay plain bytes",
                                record.name, unshaped, record.tensors.size(), from.shapes_from));
  }
  return Done{};
}

// Adds an importer's facts to those that the manifest has for the record.
void describe_tensors(std::vector<PackTensor> tensors, std::vector<DescribedOption> options, std::string_view format,
                      PackRecord& record) {
  record.tensors = std::move(tensors);
  RecordDescription& description = record.description;
  if (description.format.empty()) description.format = format;
  description.options.insert(description.options.end(), std::make_move_iterator(options.begin()),
                             std::make_move_iterator(options.end()));
}

using OperatorsByModel = std::map<std::string, OperatorUse>;  // by path

// Describes a source model that is ONNX: its operators, and how it was quantised. All of it is optional, so a
// model that cannot be read is packed like any other bytes.
void describe_source(PackRecord& record, OperatorsByModel& used, std::vector<std::string>& notes) {
  RecordDescription& description = record.description;
  const std::string& path = record.source.path;
  if (description.format != "onnx" && !path.ends_with(".onnx")) return;
  std::error_code not_there;  // the packer reports it
  const std::uint64_t size = std::filesystem::file_size(path, not_there);
  if (not_there || record.source.part) return;
  if (size > kMaxDescribedModel) {
    notes.push_back(
        fmt::format("{}: its operators are not listed: the model has more than {} MiB; keep its weights as "
                    "external data",
                    record.name, kMaxDescribedModel >> 20));
    return;
  }
  const auto model = read_onnx(path);
  if (!model.ok()) {
    notes.push_back(fmt::format("{}: its operators are not listed: {}", record.name, model.error().message));
    return;
  }
  if (description.format.empty()) description.format = "onnx";
  const std::set<std::string>& operators = model.value().operators;
  const bool listed = std::any_of(description.options.begin(), description.options.end(), [](const auto& option) {
    return option.owner == "onnx" && option.key == "operators";
  });
  if (!operators.empty() && !listed) {
    description.options.push_back({"operators", fmt::format("{}", fmt::join(operators, ", ")), "onnx"});
  }
  add_quant_facts_of(model.value(), description.options);
  used.emplace(path, model.value().used);
}

// Returns notes about the models that a container's binaries for Hexagon were compiled from.
std::vector<std::string> operator_notes(const std::vector<PackRecord>& records, const OperatorsByModel& used) {
  std::vector<std::string> notes;
  if (std::none_of(records.begin(), records.end(), for_hexagon)) return notes;
  for (const auto& [path, operators] : used) {
    for (const std::string& line : beyond_qnn_operators(operators, "htp")) {
      notes.push_back(fmt::format("{}: {}", path, line));
    }
  }
  return notes;
}

Status gather_tensors(const ManifestTensors& from, const OnnxModels& models, PackRecord& record,
                      std::vector<std::string>& notes) {
  switch (from.source) {
    case TensorSource::kRanges:
      record.tensors = from.ranges;
      return Done{};
    case TensorSource::kIrpa:
      return gather_irpa(from, models, record, notes);
    case TensorSource::kSafetensors:
    case TensorSource::kGguf: {
      FATCTX_ASSIGN(ImportedTensors imported, from.source == TensorSource::kGguf
                                                  ? tensors_from_gguf(record.source.path)
                                                  : tensors_from_safetensors(record.source.path));
      if (!imported.options.empty()) {
        notes.push_back(
            fmt::format("{}: {} of {} tensors have a type or shape that a tensor table has not; they are "
                        "bytes there, and the record's options say what they are",
                        record.name, imported.options.size(), imported.tensors.size()));
      }
      describe_tensors(std::move(imported.tensors), std::move(imported.options), tensor_source_name(from.source),
                       record);
      return Done{};
    }
    case TensorSource::kOnnx: {
      OnnxWeights weights;
      for (const std::string& path : from.models) {
        const OnnxModel& model = models.at(path);
        FATCTX_ASSIGN(const std::string location, location_of(model, path, record.source.path));
        FATCTX_ASSIGN(OnnxWeights of_model, external_weights(model, path, location));
        FATCTX_TRY(add_weights(weights, std::move(of_model), path));
      }
      describe_tensors(std::move(weights.tensors), std::move(weights.options), kOnnxDataFormat, record);
      return Done{};
    }
  }
  return Done{};
}

}  // namespace

Result<GatheredRecords> gather_records(const Manifest& manifest, OnnxModels models) {
  GatheredRecords gathered;
  OperatorsByModel used;
  for (const ManifestRecord& from : manifest.records) {
    std::vector<std::string> paths = {from.graphs_from};
    if (from.tensors) {
      paths.push_back(from.tensors->shapes_from);
      paths.insert(paths.end(), from.tensors->models.begin(), from.tensors->models.end());
    }
    for (const std::string& path : paths) {
      if (path.empty() || is_qnn_json(path) || models.contains(path)) continue;
      auto model = read_onnx(path);
      if (!model.ok()) return in_context(std::move(model).error(), from.where);
      models.emplace(path, std::move(model).value());
    }
  }
  for (const ManifestRecord& from : manifest.records) {
    PackRecord record = from.record;
    if (const auto added = add_quant_facts(from.quant, record.description.options); !added.ok()) {
      return in_context(added.error(), from.where);
    }
    if (is_qnn_json(from.graphs_from)) {
      auto status = describe_by_qnn_json(from.graphs_from, record);
      if (!status.ok()) return in_context(std::move(status).error(), from.where);
    } else if (!from.graphs_from.empty()) {
      const OnnxModel& model = models.at(from.graphs_from);
      record.description.graphs.push_back(model.graph);
      add_quant_facts_of(model, record.description.options);
      if (for_hexagon(record)) used.emplace(from.graphs_from, model.used);
    }
    if (record.type == RecordType::kSourceModel) describe_source(record, used, gathered.notes);
    if (const auto fixed = check_fixed_shapes(record); !manifest.allow_dynamic && !fixed.ok()) {
      return in_context(fixed.error(), from.where);
    }
    if (!from.ranges_from.empty()) {
      auto status = store(read_ranges(from.ranges_from), record.ranges);
      if (!status.ok()) return in_context(std::move(status).error(), from.where);
    }
    if (from.tensors) {
      auto status = gather_tensors(*from.tensors, models, record, gathered.notes);
      if (!status.ok()) return in_context(std::move(status).error(), from.where);
    }
    gathered.records.push_back(std::move(record));
  }
  if (!manifest.quant_told) {
    for (std::string& note : quant_notes(gathered.records, manifest.options)) gathered.notes.push_back(std::move(note));
    for (std::string& note : operator_notes(gathered.records, used)) gathered.notes.push_back(std::move(note));
  }
  for (const PackRecord& record : gathered.records) {
    for (const std::string& note : unknown_provider_options(record.description.options)) {
      gathered.notes.push_back(fmt::format("{}: {}", record.name, note));
    }
    if (record.type != RecordType::kContextBinary) continue;
    for (const std::string& unknown : unknown_target_words(record.key.backend, record.key.arch, record.key.features)) {
      gathered.notes.push_back(fmt::format(
          "{}: only a device that is described with the same text gets this record: {}", record.name, unknown));
    }
  }
  for (std::string& note : unknown_provider_options(manifest.options)) gathered.notes.push_back(std::move(note));
  return gathered;
}

}  // namespace fatctx::tools
