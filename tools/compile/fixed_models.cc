#include "tools/compile/fixed_models.h"

#include <filesystem>
#include <optional>
#include <utility>

namespace fatctx::tools {

namespace {

constexpr const char* kFixedFile = "model.onnx";
// Raise it when write_onnx_with_shapes() writes other bytes: the cache then drops the old ones.
constexpr const char* kStepVersion = "1";

// Returns the path of the model with these shapes, in the cache.
Result<std::string> fixed_model(const CompileInput& input, const ShapeSet& set, const CompileCache& cache) {
  StepInputs inputs{.words = {"shape", kStepVersion, shapes_text(set.shapes)}, .files = {}};
  FATCTX_TRY(store(hash_files({input.path}), inputs.files));
  std::optional<std::string> folder = cache.find(inputs);
  if (!folder) {
    FATCTX_ASSIGN(WorkFolder work, cache.begin());
    FATCTX_TRY(write_onnx_with_shapes(input.path, set.shapes, work.file(kFixedFile)));
    FATCTX_TRY(store(cache.publish(inputs, std::move(work), {kFixedFile}), folder));
  }
  return (std::filesystem::path(*folder) / kFixedFile).string();
}

}  // namespace

Result<std::vector<CompileInput>> inputs_of(const CompileInput& input, const std::vector<InputShapes>& wanted,
                                            const CompileCache& cache, OnnxModels& models) {
  if (wanted.empty()) return std::vector<CompileInput>{input};
  FATCTX_ASSIGN(const std::vector<ShapeSet> sets, shape_sets(wanted, input.onnx->graph));
  std::vector<CompileInput> inputs;
  for (const ShapeSet& set : sets) {
    CompileInput fixed = input;
    FATCTX_TRY(store(fixed_model(input, set, cache), fixed.path));
    FATCTX_ASSIGN(OnnxModel model, read_onnx(fixed.path));
    fixed.onnx = &models.insert_or_assign(fixed.path, std::move(model)).first->second;
    fixed.unit = set.unit;
    if (!set.unit.empty()) fixed.name += "." + set.unit;
    inputs.push_back(std::move(fixed));
  }
  return inputs;
}

}  // namespace fatctx::tools
