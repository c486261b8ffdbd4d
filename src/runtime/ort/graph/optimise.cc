#include "runtime/ort/graph/optimise.h"

#include <fmt/format.h>
#include <onnxruntime_session_options_config_keys.h>

#include "runtime/ort/graph/graph_write.h"

namespace fatctx::ort {

Status optimise_graph(const Ort::Env& env, const std::string& model, const OptimiseOptions& how,
                      const OptimisedFiles& out) {
  Ort::SessionOptions options;
  // Higher levels arrange weights for the processor on which they run.
  options.SetGraphOptimizationLevel(how.level == Optimisation::kBasic ? ORT_ENABLE_BASIC : ORT_ENABLE_EXTENDED);
  options.SetOptimizedModelFilePath(out.model.c_str());
  options.AddConfigEntry(kOrtSessionOptionsOptimizedModelExternalInitializersFileName, out.weights.c_str());
  options.AddConfigEntry(kOrtSessionOptionsOptimizedModelExternalInitializersMinSizeInBytes,
                         std::to_string(kExternalBytes).c_str());
  // The session exists only for the model it writes, and that does not contain prepacked weights.
  options.AddConfigEntry(kOrtSessionOptionsConfigDisablePrepacking, "1");
  if (!how.fold) options.AddConfigEntry(kOrtSessionOptionsDisableSpecifiedOptimizers, "ConstantFolding");
  options.SetIntraOpNumThreads(1);
  try {
    const Ort::Session session(env, model.c_str(), options);
  } catch (const Ort::Exception& error) {
    return Error{ErrorCode::kMalformed, fmt::format("the graph cannot be compiled for {}: {}", kBackend, error.what())};
  }
  return Done{};
}

}  // namespace fatctx::ort
