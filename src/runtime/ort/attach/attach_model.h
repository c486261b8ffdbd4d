// What an ONNX model says of its external data, read from its bytes alone: the library knows no other part of the
// format, and has no ONNX classes. Pure: no IO.
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
  std::int32_t type = 0;  // TensorProto::DataType, whose numbers are those of ONNXTensorElementDataType
  std::vector<std::uint64_t> shape;
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> size_bytes;
  // Not an initializer of the main graph: of the body of a node, of a function, sparse, an attribute.
  bool inner = false;
};

// In the order of the model, the main graph first.
// Errors: malformed (not an ONNX model; external data without a location, or with an offset that is no number).
[[nodiscard]] Result<std::vector<ModelTensor>> external_tensors(ByteView model);

}  // namespace fatctx::ort
