// Optimising a graph before it is packed, so that sessions need not do it, each for itself and with copies of weights.
#pragma once

#include <string>

#include "runtime/ort/ep/options.h"
#include "runtime/ort/ep/status.h"

namespace fatctx::ort {

struct OptimisedFiles {
  std::string model;    // path
  std::string weights;  // the name of a file beside it
};

// Writes what ONNX Runtime makes of the model at `model`. Nothing in it depends on the processor.
// Errors: malformed, with what ONNX Runtime says.
[[nodiscard]] Status optimise_graph(const Ort::Env& env, const std::string& model, Optimisation level,
                                    const OptimisedFiles& out);

}  // namespace fatctx::ort
