// A graph of ONNX Runtime written as an ONNX model and a file with its weights.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "runtime/ort/ep/api.h"

namespace fatctx::ort {

// Initializers of so many bytes and more lie outside of the model; shapes and scalars stay inside, where ONNX Runtime
// sees them when it works out the shapes of others.
inline constexpr std::size_t kExternalBytes = 1024;

// `graph` as a model called `name`, with the inputs and outputs of `fused` in their order. `weights` is a file beside
// `path`, by its name. Errors: unsupported (an input or output that is no tensor; an attribute or a type that has no
// form here), limit_exceeded (see check_model_size()), no_space.
[[nodiscard]] Status write_graph(const Ort::ConstGraph& graph, const Ort::ConstNode& fused, const std::string& name,
                                 const std::string& path, const std::string& weights);

// Its inputs and outputs as the model declares them.
[[nodiscard]] DescribedGraph describe_graph(const Ort::ConstNode& fused, const std::string& name);

}  // namespace fatctx::ort
