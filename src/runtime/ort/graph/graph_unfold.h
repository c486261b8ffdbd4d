// Takes back the folding of constants that became larger by it.
//
// ONNX Runtime works out everything that is constant: weights that are stored as int8 and used as float32 take four
// times the bytes. It can only be told not to fold at all. So a folded constant is replaced by the nodes it came from.
#pragma once

#include <cstdint>
#include <string>

#include "fatctx/base/result.h"
#include "runtime/ort/graph/api.h"

namespace onnx {
class ModelProto;
}

namespace fatctx::ort {

// A model in memory, with the folder of its external data, which ends with '/'.
struct ModelInFolder {
  onnx::ModelProto& model;
  std::string folder;
};

// Puts nodes of `origin` back into `folded` for each initializer that they make from fewer bytes. Does so only if they
// give the same bytes in a session. `weights` is the name of a file in the folder of `folded`, for what the nodes read.
// Leaves an initializer as it is if `origin` does not make it, or if it cannot be run.
// Errors: no_space.
[[nodiscard]] Status unfold_larger_constants(const ModelInFolder& folded, const ModelInFolder& origin,
                                             const std::string& weights, const Ort::Env& env);

// Returns the bytes of all initializers of the main graph, and of its Constant nodes.
[[nodiscard]] std::uint64_t constant_bytes(const onnx::ModelProto& model);

}  // namespace fatctx::ort
