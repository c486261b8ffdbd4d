// ONNX models in files.
#pragma once

#include <string>

#include "fatctx/base/result.h"

namespace onnx {
class ModelProto;
}

namespace fatctx::ort {

// Errors: not_found, malformed.
[[nodiscard]] Status read_model(const std::string& path, onnx::ModelProto& model);

// Errors: limit_exceeded (see check_model_size()), no_space.
[[nodiscard]] Status write_model(const onnx::ModelProto& model, const std::string& path);

}  // namespace fatctx::ort
