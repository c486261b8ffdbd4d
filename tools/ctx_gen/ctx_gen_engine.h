// The part of ctx-gen that needs ONNX Runtime, as the rest of it sees it. The program ep_weight_sharing_ctx_gen has
// one; the command `fatctx`, which links no ONNX Runtime, has none.
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
  std::string provider;  // name
  std::string library;   // absolute path
  std::vector<EngineModel> models;
  bool verbose = false;
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::size_t)> begins = {};  // with a model
};

struct EngineReport {
  std::string runtime;          // version of ONNX Runtime
  std::string device;           // that the provider has compiled on
  std::vector<double> seconds;  // by model
};

// One environment; a session for each model, in order, created and destroyed.
// Errors: backend_library_missing (the library cannot be loaded, or offers no device), cancelled, serialise_failed (the
// provider took no node, or says what is wrong), not_found, malformed, unsupported, invalid_argument as ONNX Runtime
// says.
using CtxGenEngine = Result<EngineReport> (*)(const EngineRequest& request);

// Null without one.
[[nodiscard]] CtxGenEngine ctx_gen_engine() noexcept;
void set_ctx_gen_engine(CtxGenEngine engine) noexcept;

}  // namespace fatctx::tools
