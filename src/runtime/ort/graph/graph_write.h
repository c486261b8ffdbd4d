// Writes a graph of ONNX Runtime as an ONNX model and a file with its weights.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "runtime/ort/graph/api.h"

namespace fatctx::ort {

// The smallest size of an initializer that is stored outside of the model. Shapes and scalars stay inside, because ONNX
// Runtime needs their values for shape inference.
inline constexpr std::size_t kExternalBytes = 1024;

// Writes `graph` as a model called `name` to `path`, with the inputs and outputs of `fused` in their order. `weights`
// is the name of a file next to `path`.
// Errors: unsupported (an input or output that is not a tensor; an attribute or a type that cannot be expressed),
// limit_exceeded (see check_model_size()), no_space.
[[nodiscard]] Status write_graph(const Ort::ConstGraph& graph, const Ort::ConstNode& fused, const std::string& name,
                                 const std::string& path, const std::string& weights);

// Returns the inputs and outputs as the model declares them.
[[nodiscard]] DescribedGraph describe_graph(const Ort::ConstNode& fused, const std::string& name);

}  // namespace fatctx::ort
