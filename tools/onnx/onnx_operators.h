// Counts the operators of a model, for notes on what a compiler may not take.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace onnx {
class ModelProto;
}

namespace fatctx::tools {

struct OperatorUse {
  // Nodes by operator: "Conv", "com.microsoft:Gelu". Those of inner graphs and of functions count. Constant and
  // EPContext nodes, and calls of the model's own functions, do not.
  std::map<std::string, std::uint64_t> nodes;
  // MatMul nodes by the types that DequantizeLinear gives their two inputs: ("uint8", "uint16").
  std::map<std::pair<std::string, std::string>, std::uint64_t> matmul_types;
};

// Returns the operators of a model as it was read.
[[nodiscard]] OperatorUse operators_used(const onnx::ModelProto& model);

}  // namespace fatctx::tools
