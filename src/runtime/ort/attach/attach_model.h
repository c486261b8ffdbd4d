// Reads the external data references of an ONNX model from its bytes. The library knows no other part of the format and
// uses no ONNX classes. Pure: no IO.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::ort {

struct ModelTensor {
  std::string name;
  std::int32_t type = 0;  // TensorProto::DataType; ONNXTensorElementDataType uses the same numbers
  std::vector<std::uint64_t> shape;
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> size_bytes;
  // True for all tensors but initializers and Constant nodes of the main graph: those in the body of a node, a function
  // or another attribute, and sparse ones. A Constant node of a graph has the name of its output.
  bool inner = false;
  // True for the tensors that ONNX Runtime replaces by name: initializers and Constant nodes, those in the body of a
  // node too. Other tensors of a body or a function have no name that a program could use.
  bool by_name = false;
};

// Returns all tensors in the order of the model, the main graph first.
// Errors: malformed (not an ONNX model; external data without a location, or with an offset that is not a number).
[[nodiscard]] Result<std::vector<ModelTensor>> external_tensors(ByteView model);

}  // namespace fatctx::ort
