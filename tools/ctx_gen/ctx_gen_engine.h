// The interface to the part of ctx-gen that needs ONNX Runtime. A build without its headers has no engine.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/ctx_gen/ctx_gen_options.h"

namespace fatctx::tools {

struct EngineModel {
  std::string input;
  std::string output;
  KeyValues session_entries;
  KeyValues provider_options;
};

struct EngineRequest {
  std::string provider;  // its name
  std::string library;   // absolute path
  std::vector<EngineModel> models;
  bool optimise_in_session = true;  // false: ONNX Runtime hands the models to the provider as they are
  bool verbose = false;
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::size_t)> begins = {};  // called with the index of a model when it starts
};

struct EngineReport {
  std::string runtime;          // version of ONNX Runtime
  std::string device;           // that the provider compiled on
  std::vector<double> seconds;  // compile time by model
};

// Creates one environment, then creates and destroys a session for each model in order.
// Errors: backend_library_missing (the library cannot be loaded, or offers no device), cancelled, serialise_failed (the
// provider took no node, or reports an error), not_found, malformed, unsupported, invalid_argument as ONNX Runtime
// reports them.
using CtxGenEngine = Result<EngineReport> (*)(const EngineRequest& request);

// Sets the engine of this program. Without a call, it has none.
void set_ctx_gen_engine(CtxGenEngine engine) noexcept;

}  // namespace fatctx::tools
