// ctx-gen's sessions of ONNX Runtime.
#pragma once

#include "fatctx/base/result.h"
#include "tools/ctx_gen/ctx_gen_engine.h"

namespace fatctx::tools {

// As CtxGenEngine says.
[[nodiscard]] Result<EngineReport> run_sessions(const EngineRequest& request);

}  // namespace fatctx::tools
