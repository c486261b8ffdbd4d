#include "tools/compile/iree_compile.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/compile/iree_refusal.h"

namespace fatctx::tools {

namespace fs = std::filesystem;

Result<IreeCompile::Imported> IreeCompile::import(const CompileInput& input, std::string& log) const {
  std::optional<ProgressLine> line;
  line.emplace("import", stderr_is_terminal(), std::chrono::milliseconds(0));
  line->step(0, 1, input.beside);
  auto step = driver_.import_model(input, wanted_.import_options, log);
  line.reset();
  if (!step.ok()) {
    Error error = explained(std::move(step).error(), log, input);
    return input.unit.empty() ? error : in_context(std::move(error), input.unit);
  }
  Imported imported{.step = std::move(step).value(), .weights_file = {}, .weights_name = {}};
  const std::string took = imported.step.cached ? "cached" : fmt::format("{:.1f} s", imported.step.seconds);
  print_note(escaped(fmt::format("imported {}{}{} with IREE {}: {}", input.beside, input.unit.empty() ? "" : " for ",
                                 input.unit, driver_.tools().version, took)));
  std::error_code error;
  const fs::path weights = fs::path(imported.step.folder) / kParameterFile;
  if (fs::exists(weights, error)) imported.weights_file = weights.string();
  return imported;
}

// Gives equal weights one name. That of the first is the model's own.
Status IreeCompile::name_weights() {
  std::map<std::string, std::string> names;  // by content
  for (std::size_t i = 0; i < imported_.size(); ++i) {
    if (imported_[i].weights_file.empty()) continue;
    FATCTX_ASSIGN(const auto hashed, hash_files({imported_[i].weights_file}));
    const std::string& prefix = names.empty() ? inputs_[i].group : inputs_[i].name;
    imported_[i].weights_name = names.emplace(hashed.front().hash, prefix + ".weights").first->second;
  }
  return Done{};
}

Status IreeCompile::begin(std::string& log) {
  for (const CompileInput& input : inputs_) {
    FATCTX_ASSIGN(Imported imported, import(input, log));
    imported_.push_back(std::move(imported));
  }
  return name_weights();
}

Result<CompiledTarget> IreeCompile::compile(std::size_t target, std::string& log) const {
  const CompileTarget& wanted = target_at(target);
  const CompileInput& input = inputs_[input_at(target)];
  const Imported& imported = imported_[input_at(target)];
  const auto step = driver_.compile(imported.step, wanted, log);
  if (!step.ok()) return explained(step.error(), log, input);
  const std::string module = (fs::path(step.value().folder) / kModuleFile).string();
  if (!imported.weights_file.empty()) FATCTX_TRY(check_uses_weights(module, imported.weights_file, input));
  CompiledTarget compiled;
  FATCTX_TRY(store(check_.check(input, wanted, module, imported.weights_file), compiled.check));
  compiled.cached = step.value().cached;
  compiled.seconds = step.value().seconds;
  std::error_code error;
  compiled.size_bytes = fs::file_size(module, error);

  ManifestRecord binary;
  binary.where = "target " + target_label(wanted);
  binary.record.type = RecordType::kContextBinary;
  binary.record.name = input.name + "." + target_label(wanted);
  binary.record.key = wanted.key;
  binary.record.key.group = input.group;
  binary.record.key.unit = input.unit;
  binary.record.source.path = module;
  binary.record.description.format = "iree-vmfb";
  binary.record.description.producer = name();
  if (!imported.weights_name.empty()) binary.record.weights = {imported.weights_name};
  binary.graphs_from = input.path;
  compiled.records.push_back(std::move(binary));
  return compiled;
}

Result<std::vector<ManifestRecord>> IreeCompile::shared_records() const {
  std::vector<ManifestRecord> records;
  std::set<std::string> names;
  for (std::size_t i = 0; i < imported_.size(); ++i) {
    const Imported& imported = imported_[i];
    if (imported.weights_file.empty() || !names.insert(imported.weights_name).second) continue;
    ManifestRecord weights;
    weights.where = "the weights";
    weights.record.type = RecordType::kWeightBlob;
    weights.record.name = imported.weights_name;
    weights.record.key.group = inputs_[i].group;
    weights.record.source.path = imported.weights_file;
    weights.record.description.format = "irpa";
    weights.record.description.producer = "iree-import-onnx " + driver_.tools().version;
    weights.record.description.options = {
        {.key = "iree.parameter_scope", .value = std::string(kParameterScope), .owner = "iree"}};
    weights.tensors =
        ManifestTensors{.source = TensorSource::kIrpa, .shapes_from = inputs_[i].path, .models = {}, .ranges = {}};
    records.push_back(std::move(weights));
  }
  return records;
}

}  // namespace fatctx::tools
