#include "runtime/ort/ep/optimise.h"

#include <fmt/format.h>
#include <onnxruntime_session_options_config_keys.h>

#include "runtime/ort/ep/graph_write.h"

namespace fatctx::ort {

Status optimise_graph(const Ort::Env& env, const std::string& model, Optimisation level, const OptimisedFiles& out) {
  Ort::SessionOptions options;
  // Levels above it arrange weights for the processor that they run on.
  options.SetGraphOptimizationLevel(level == Optimisation::kBasic ? ORT_ENABLE_BASIC : ORT_ENABLE_EXTENDED);
  options.SetOptimizedModelFilePath(out.model.c_str());
  options.AddConfigEntry(kOrtSessionOptionsOptimizedModelExternalInitializersFileName, out.weights.c_str());
  options.AddConfigEntry(kOrtSessionOptionsOptimizedModelExternalInitializersMinSizeInBytes,
                         std::to_string(kExternalBytes).c_str());
  // The session is made for what it writes; what kernels would make of the weights is not in it.
  options.AddConfigEntry(kOrtSessionOptionsConfigDisablePrepacking, "1");
  options.SetIntraOpNumThreads(1);
  try {
    const Ort::Session session(env, model.c_str(), options);
  } catch (const Ort::Exception& error) {
    return Error{ErrorCode::kMalformed, fmt::format("the graph cannot be compiled for {}: {}", kBackend, error.what())};
  }
  return Done{};
}

}  // namespace fatctx::ort
