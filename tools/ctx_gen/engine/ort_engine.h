// Runs the sessions of ONNX Runtime for ctx-gen.
#pragma once

#include "fatctx/base/result.h"
#include "tools/ctx_gen/ctx_gen_engine.h"

namespace fatctx::tools {

// Implements CtxGenEngine.
[[nodiscard]] Result<EngineReport> run_sessions(const EngineRequest& request);

}  // namespace fatctx::tools
