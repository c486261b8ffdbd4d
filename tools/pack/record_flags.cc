#include "tools/pack/record_flags.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/import_dlc.h"
#include "fatctx/targets.h"
#include "tools/onnx/onnx_embedded.h"
#include "tools/onnx/onnx_weights.h"
#include "tools/pack/ep_context.h"
#include "tools/pack/manifest_flags.h"
#include "tools/pack/manifest_read.h"

namespace fatctx::tools {

namespace {

// Returns the source of the tensors in a file of --weights, by its first bytes. A safetensors file has no
// magic bytes, so its name decides.
std::optional<ManifestTensors> tensors_of(const PackRecord& record, const std::string& tensors_from) {
  ManifestTensors tensors;
  if (record.description.format == "irpa") {
    tensors.source = TensorSource::kIrpa;
    tensors.shapes_from = tensors_from;
  } else if (record.description.format == "gguf") {
    tensors.source = TensorSource::kGguf;
  } else if (tensor_source_of_file(record.source.path) == TensorSource::kSafetensors) {
    tensors.source = TensorSource::kSafetensors;
  } else {
    return std::nullopt;
  }
  return tensors;
}

// Returns the initializers inside a model, as a blob of their own.
Result<ManifestRecord> embedded_record(const ManifestRecord& record, const OnnxModel& model) {
  const std::string& model_path = record.record.source.path;
  FATCTX_ASSIGN(EmbeddedWeights weights,
                embedded_weights(model, model_path, record.embedded_size.value_or(kDefaultEmbeddedSize)));
  ManifestRecord blob = record;
  blob.record.source = {.path = {}, .bytes = std::move(weights.bytes)};
  blob.record.description.format = kOnnxDataFormat;
  blob.record.description.options = std::move(weights.options);
  blob.tensors = ManifestTensors{
      .source = TensorSource::kRanges, .shapes_from = {}, .models = {}, .ranges = std::move(weights.tensors)};
  return blob;
}

// Returns the blobs of a model: the files with its external data, and its inner initializers if they are
// requested or the only ones. The first blob has the record's name, the others a number after it.
Result<std::vector<ManifestRecord>> weights_of_model(const ManifestRecord& record) {
  const std::string& model_path = record.record.source.path;
  auto model = read_onnx(model_path);
  if (!model.ok()) return in_context(std::move(model).error(), record.where);
  std::vector<ManifestRecord> records;
  const auto add = [&](ManifestRecord blob) {
    if (!records.empty()) blob.record.name += fmt::format("{}", records.size() + 1);
    records.push_back(std::move(blob));
  };
  for (const std::string& location : model.value().external_files) {
    auto weights = external_weights(model.value(), model_path, location);
    if (!weights.ok()) return in_context(std::move(weights).error(), record.where);
    ManifestRecord blob = record;
    blob.record.source.path = weights.value().path;
    blob.tensors =
        ManifestTensors{.source = TensorSource::kOnnx, .shapes_from = {}, .models = {model_path}, .ranges = {}};
    add(std::move(blob));
  }
  if (records.empty() || record.embedded_size) {
    auto blob = embedded_record(record, model.value());
    if (!blob.ok()) return in_context(std::move(blob).error(), record.where);
    add(std::move(blob).value());
  }
  return records;
}

// Merges the blob into a record of the same file. Models of one group may share a file of external data,
// which is then one blob with the tensors of all. Returns false if no record so far is of the same file.
bool joined(const ManifestRecord& blob, std::vector<ManifestRecord>& records) {
  if (!blob.tensors || blob.tensors->source != TensorSource::kOnnx) return false;
  for (ManifestRecord& earlier : records) {
    if (!earlier.tensors || earlier.tensors->source != TensorSource::kOnnx) continue;
    std::error_code not_there;
    const bool same = std::filesystem::equivalent(earlier.record.source.path, blob.record.source.path, not_there);
    if (!same || earlier.record.key.group != blob.record.key.group) continue;
    const std::vector<std::string>& models = blob.tensors->models;
    earlier.tensors->models.insert(earlier.tensors->models.end(), models.begin(), models.end());
    return true;
  }
  return false;
}

// Checks that the format of a file does not contradict the flag.
Status check_binary(const PackRecord& record) {
  const std::string& format = record.description.format;
  if (format == "dlc") {
    return invalid_argument(
        fmt::format("{}: a DLC, an archive of context binaries for several targets, and no binary for one; "
                    "use --dlc {}",
                    record.source.path, record.source.path));
  }
  if (format == "ovep-bin" && record.key.backend != "openvino") {
    return invalid_argument(
        fmt::format("{}: a binary of the OpenVINO provider (OVEP_BIN), but its target is \"{}\"; give it as "
                    "--binary FILE@openvino:ARCH, or the model beside it as --ep-context",
                    record.source.path, record.key.backend));
  }
  return Done{};
}

// Refuses an option that would have no effect, because the mistake would remain unnoticed.
Status check_tensors_from(const RecordFlags& flags, const Manifest& manifest) {
  const bool asked = std::ranges::any_of(manifest.records, [](const ManifestRecord& record) {
    return !record.graphs_from.empty() || (record.tensors && !record.tensors->shapes_from.empty());
  });
  if (flags.tensors_from.empty() || asked) return Done{};
  return invalid_argument(
      fmt::format("--tensors-from {}: there is nothing that it would describe; it gives the tensors of a --weights "
                  "file of the form .irpa their shapes, and a --binary its inputs and outputs",
                  flags.tensors_from));
}

// Adds the facts that one flag states for all binaries.
Status add_quant(const RecordFlags& flags, Manifest& manifest) {
  if (flags.quant.empty()) return Done{};
  FATCTX_ASSIGN(const QuantFacts facts, parse_quant_flag(flags.quant));
  bool any = false;
  for (ManifestRecord& record : manifest.records) {
    if (record.record.type != RecordType::kContextBinary) continue;
    record.quant = facts;
    any = true;
  }
  if (any) return Done{};
  return invalid_argument(fmt::format("--quant {}: there is no context binary that it would describe", flags.quant));
}

// Returns the import options. Several archives may have entries of the same names, and for the same targets,
// so each is then a unit of its own.
DlcImport import_of(const std::string& dlc, const RecordFlags& flags) {
  const std::string& group = flags.group.empty() ? flags.name : flags.group;
  if (flags.dlcs.size() < 2) return {.group = group};
  const std::string stem = std::filesystem::path(dlc).stem().string();
  return {.group = group, .unit = stem, .prefix = stem + "."};
}

Result<TargetRules> rules_of(const RecordFlags& flags) {
  FATCTX_ASSIGN(SocTable table, SocTable::from_environment());
  return TargetRules{std::move(table), flags.allow_unreachable};
}

// Fills in what a compiler's file does not say of its SoC. How much VTCM a binary uses only its compiler knows.
void add_known_facts(const SocTable& table, PackKey& key) {
  if (key.qnn_soc == 0 && key.part.empty()) return;
  const std::uint32_t vtcm_mb = key.vtcm_mb;
  auto completed = complete_target(key, table, true);
  // A contradiction needs no warning: the file is right about its binary.
  if (!completed.ok() || !completed.value().warnings.empty()) return;
  key = std::move(completed).value().key;
  key.vtcm_mb = vtcm_mb;
}

Result<Manifest> manifest_of_flags(const RecordFlags& flags) {
  if (flags.name.empty())
    return invalid_argument("--name is missing: it names the model and the records that have no name");
  if (flags.binaries.empty() && flags.weights.empty() && flags.ep_contexts.empty() && flags.dlcs.empty()) {
    return invalid_argument(
        "nothing to pack: give a MANIFEST, or --binary FILE@TARGET and --weights FILE, or --ep-context MODEL, or --dlc "
        "FILE");
  }
  Manifest manifest;
  manifest.name = flags.name;
  std::vector<std::string> weight_names;
  for (std::size_t i = 0; i < flags.weights.size(); ++i) {
    FATCTX_ASSIGN(ManifestRecord record,
                  parse_weights_flag(flags.weights[i], flags.name, weight_names.size(), flags.group));
    std::vector<ManifestRecord> blobs;
    if (record.record.source.path.ends_with(".onnx")) {
      FATCTX_ASSIGN(blobs, weights_of_model(record));
    } else {
      record.record.description.format = format_of(record.record.source.path);
      record.tensors = tensors_of(record.record, flags.tensors_from);
      blobs.push_back(std::move(record));
    }
    const bool named = flags.weights[i].find(",name=") != std::string::npos;
    for (ManifestRecord& blob : blobs) {
      if (!named && joined(blob, manifest.records)) continue;
      weight_names.push_back(blob.record.name);
      manifest.records.push_back(std::move(blob));
    }
  }
  FATCTX_ASSIGN(const TargetRules rules, rules_of(flags));
  for (const std::string& binary : flags.binaries) {
    FATCTX_ASSIGN(ManifestRecord record, parse_binary_flag(binary, flags.name, rules, flags.group));
    record.record.description.format = format_of(record.record.source.path);
    FATCTX_TRY(check_binary(record.record));
    record.record.weights = weight_names;
    record.graphs_from = flags.tensors_from;
    manifest.records.push_back(std::move(record));
  }
  const auto add_all = [&](Result<ImportedRecords> found) -> Status {
    if (!found.ok()) return std::move(found).error();
    ImportedRecords& imported = found.value();
    for (ManifestRecord& made : imported.records) {
      FATCTX_ASSIGN(const bool joined, joined_with(manifest.records, made));
      if (!joined) manifest.records.push_back(std::move(made));
    }
    std::move(imported.notes.begin(), imported.notes.end(), std::back_inserter(manifest.notes));
    return Done{};
  };
  const std::string& group = flags.group.empty() ? flags.name : flags.group;
  const std::size_t others = manifest.records.size();
  for (const std::string& model : flags.ep_contexts) FATCTX_TRY(add_all(records_from_ep_context(model, group)));
  // Not before: another model of the same binary may state it.
  for (ManifestRecord& made : std::span(manifest.records).subspan(others)) add_default_vtcm(made.record);
  for (ManifestRecord& record : manifest.records) add_known_facts(rules.table, record.record.key);
  for (const std::string& dlc : flags.dlcs) {
    FATCTX_TRY(add_all(manifest_records_from_dlc(dlc, import_of(dlc, flags))));
  }
  FATCTX_TRY(check_tensors_from(flags, manifest));
  FATCTX_TRY(add_quant(flags, manifest));
  return manifest;
}

}  // namespace

bool every_group_named(const RecordFlags& flags) {
  const auto named = [](const std::string& spec) { return spec.find(",group=") != std::string::npos; };
  return flags.dlcs.empty() && std::ranges::all_of(flags.binaries, named) &&
         std::ranges::all_of(flags.weights, named) && std::ranges::all_of(flags.ep_contexts, named);
}

Status complete_targets(const TargetRules& rules, Manifest& manifest) {
  for (ManifestRecord& record : manifest.records) {
    if (record.record.type != RecordType::kContextBinary) continue;
    FATCTX_TRY(complete_target_of(record.record, rules, record.where));
  }
  return Done{};
}

Result<Manifest> manifest_of(const RecordFlags& flags) {
  if (flags.manifest.empty()) {
    FATCTX_ASSIGN(Manifest manifest, manifest_of_flags(flags));
    manifest.allow_dynamic = flags.allow_dynamic;
    return manifest;
  }
  if (!flags.group.empty())
    return invalid_argument("--group is for records that come by flags; a manifest has \"group\"");
  const bool mixed = !flags.binaries.empty() || !flags.weights.empty() || !flags.ep_contexts.empty() ||
                     !flags.dlcs.empty() || !flags.tensors_from.empty() || !flags.quant.empty() || !flags.name.empty();
  if (mixed) {
    return invalid_argument(
        "--name, --binary, --weights, --ep-context, --dlc, --tensors-from and --quant stand for a manifest; give "
        "either");
  }
  FATCTX_ASSIGN(Manifest manifest, read_manifest(flags.manifest, flags.known_weights));
  manifest.allow_dynamic = flags.allow_dynamic;
  FATCTX_ASSIGN(const TargetRules rules, rules_of(flags));
  FATCTX_TRY(complete_targets(rules, manifest));
  return manifest;
}

void add_manifest_argument(CLI::App& command, RecordFlags& flags) {
  command.add_option("MANIFEST", flags.manifest, "Records to pack, as JSON with comments");
}

void add_record_flags(CLI::App& command, RecordFlags& flags) {
  command.add_option("--name", flags.name, "Without MANIFEST: name of the model")->type_name("NAME");
  command
      .add_option("--binary", flags.binaries, "A context binary: FILE@BACKEND:ARCH[+FEATURE...][,unit=...,name=...]")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--weights", flags.weights, "A weight blob: FILE[,name=...]; of an .onnx, its weights")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--ep-context", flags.ep_contexts, "The binary that a ..._ctx.onnx names: FILE[,name=...,unit=...]")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--dlc", flags.dlcs, "A multi-SoC DLC: all of its entries, binaries with their targets")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--tensors-from", flags.tensors_from, "ONNX model with tensor types, shapes, inputs and outputs")
      ->type_name("MODEL");
  command.add_option("--quant", flags.quant, "How binaries were quantised: activation_type=uint16,weight_type=uint8")
      ->type_name("FACTS");
  command.add_flag("--allow-dynamic", flags.allow_dynamic, "Let binaries for htp have dimensions that are not fixed");
  command.add_flag("--allow-unreachable", flags.allow_unreachable,
                   "Take targets that no device gets or that contradict themselves");
}

void add_adding_rules(CLI::App& command, bool& one_per_soc, bool& strict_sharing) {
  command.add_flag("--one-per-soc", one_per_soc, "Refuse a second context binary for a SoC, whatever else differs");
  command.add_flag("--strict-sharing", strict_sharing, "Refuse records that do not share as they were compiled");
}

}  // namespace fatctx::tools
