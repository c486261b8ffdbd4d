// Moves weights out of the bodies of If, Loop and Scan.
//
// ONNX Runtime borrows initializers of the main graph only. For one of an inner graph it searches the disk, even if it
// was given the bytes in memory. An inner graph may use values of the outer graphs, so a weight can move.
#pragma once

#include <string>

#include "fatctx/base/result.h"

namespace onnx {
class ModelProto;
}

namespace fatctx::ort {

// Moves large initializers of inner graphs into the main graph, and renames them if their name is used twice. An
// initializer that is an output of its graph gets an Identity node there. One that is also an input stays. Bytes within
// the model go to the file `weights` in `folder`, which ends with '/'.
// Errors: no_space.
[[nodiscard]] Status hoist_weights(onnx::ModelProto& model, const std::string& folder, const std::string& weights);

}  // namespace fatctx::ort
