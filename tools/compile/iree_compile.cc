#include "tools/compile/iree_compile.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "tools/cli/print.h"
#include "tools/cli/progress.h"

namespace fatctx::tools {

namespace fs = std::filesystem;

Status IreeCompile::begin(std::string& log) {
  std::optional<ProgressLine> line;
  line.emplace("import", stderr_is_terminal(), std::chrono::milliseconds(0));
  line->step(0, 1, input_.path);
  auto imported = driver_.import_model(input_.path, *input_.onnx, wanted_.import_options, log);
  line.reset();
  if (!imported.ok()) return std::move(imported).error();
  imported_ = std::move(imported).value();
  const std::string took = imported_.cached ? "cached" : fmt::format("{:.1f} s", imported_.seconds);
  print_note(escaped(fmt::format("imported {} with IREE {}: {}", input_.path, driver_.tools().version, took)));
  std::error_code error;
  has_weights_ = fs::exists(fs::path(imported_.folder) / kParameterFile, error);
  return Done{};
}

Result<CompiledTarget> IreeCompile::compile(std::size_t target, std::string& log) const {
  const CompileTarget& wanted = wanted_.targets[target];
  FATCTX_ASSIGN(const StepResult step, driver_.compile(imported_, wanted, log));
  ManifestRecord binary;
  binary.where = "target " + target_label(wanted);
  binary.record.type = RecordType::kContextBinary;
  binary.record.name = input_.name + "." + target_label(wanted);
  binary.record.key = wanted.key;
  binary.record.key.group = input_.name;
  binary.record.source.path = (fs::path(step.folder) / kModuleFile).string();
  binary.record.description.format = "iree-vmfb";
  binary.record.description.producer = name();
  if (has_weights_) binary.record.weights = {weights_name()};
  binary.graphs_from = input_.path;
  CompiledTarget compiled{.records = {}, .notes = {}, .size_bytes = 0, .cached = step.cached, .seconds = step.seconds};
  std::error_code error;
  compiled.size_bytes = fs::file_size(binary.record.source.path, error);
  compiled.records.push_back(std::move(binary));
  return compiled;
}

Result<std::vector<ManifestRecord>> IreeCompile::shared_records() const {
  std::vector<ManifestRecord> records;
  if (!has_weights_) return records;
  ManifestRecord weights;
  weights.where = "the weights";
  weights.record.type = RecordType::kWeightBlob;
  weights.record.name = weights_name();
  weights.record.key.group = input_.name;
  weights.record.source.path = (fs::path(imported_.folder) / kParameterFile).string();
  weights.record.description.format = "irpa";
  weights.record.description.producer = "iree-import-onnx " + driver_.tools().version;
  weights.record.description.options = {
      {.key = "iree.parameter_scope", .value = std::string(kParameterScope), .owner = "iree"}};
  weights.tensors =
      ManifestTensors{.source = TensorSource::kIrpa, .shapes_from = input_.path, .models = {}, .ranges = {}};
  records.push_back(std::move(weights));
  return records;
}

}  // namespace fatctx::tools
