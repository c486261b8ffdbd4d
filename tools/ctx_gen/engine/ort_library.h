// Finds ONNX Runtime when a command needs it. The command does not link it, so it starts without.
#pragma once

#include <onnxruntime_c_api.h>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Loads libonnxruntime.so.1 once and for the whole process: the file that FATCTX_ONNXRUNTIME names, or the one that the
// loader finds.
// Errors: backend_library_missing (not found, no ONNX Runtime, or too old), with what to install.
[[nodiscard]] Result<const OrtApiBase*> onnxruntime_library();

}  // namespace fatctx::tools
