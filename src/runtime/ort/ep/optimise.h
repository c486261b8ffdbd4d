// Optimises a graph before it is packed, so that sessions need not do it, each with its own copies of weights.
#pragma once

#include <string>

#include "runtime/ort/ep/options.h"
#include "runtime/ort/ep/status.h"

namespace fatctx::ort {

struct OptimisedFiles {
  std::string model;    // path
  std::string weights;  // the name of a file next to it
};

// Writes the optimised form of the model at `model`. The result does not depend on the processor.
// Errors: malformed, with the message of ONNX Runtime.
[[nodiscard]] Status optimise_graph(const Ort::Env& env, const std::string& model, Optimisation level,
                                    const OptimisedFiles& out);

}  // namespace fatctx::ort
