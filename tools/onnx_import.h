// What an ONNX model says about its weights and its inputs and outputs. The one file that knows the onnx classes is
// onnx_import.cc; nothing here checks or runs the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "fatctx/record.h"

namespace fatctx::tools {

struct OnnxInitializer {
  std::string name;
  std::optional<DType> dtype;  // empty: a type that tensor tables do not have (strings, complex, 8-bit floats)
  std::vector<std::uint64_t> shape;
};

struct OnnxModel {
  DescribedGraph graph;  // without initializers among its inputs; -1 for a dimension that is not fixed
  std::vector<OnnxInitializer> initializers;
  std::vector<std::string> external_files;  // where initializers lie outside of the model; relative, each once
};

// Errors: not_found, not_regular_file, malformed (not an ONNX model, negative dimensions), limit_exceeded (2 GiB).
// Cost: reads and parses the whole file into memory, once.
[[nodiscard]] Result<OnnxModel> read_onnx(const std::string& path);

// Gives tensors that are bytes so far the element type and shape of the initializer with their name. A tensor without
// such an initializer, or with one that a tensor table cannot describe, stays as it is. Returns how many stayed.
// `model_name` is what errors call the model.
// Errors: invalid_argument, if an initializer has another size than its tensor, with both sizes.
[[nodiscard]] Result<std::uint64_t> give_shapes(const OnnxModel& model, const std::string& model_name,
                                                std::vector<PackTensor>& tensors);

}  // namespace fatctx::tools
