// Optimises a graph before it is packed, so that sessions need not do it, each with its own copies of weights.
#pragma once

#include <cstdint>
#include <string>

#include "fatctx/base/result.h"
#include "runtime/ort/graph/api.h"

namespace fatctx::ort {

// The level of optimisation before a graph is packed.
enum class Optimisation : std::uint8_t { kNone, kBasic, kExtended };

struct OptimisedFiles {
  std::string model;    // path
  std::string weights;  // the name of a file next to it
};

struct OptimiseOptions {
  Optimisation level = Optimisation::kExtended;
  bool fold = true;  // works out constants
};

// Writes the optimised form of the model at `model`. The result does not depend on the processor.
// Errors: malformed, with the message of ONNX Runtime.
[[nodiscard]] Status optimise_graph(const Ort::Env& env, const std::string& model, const OptimiseOptions& how,
                                    const OptimisedFiles& out);

}  // namespace fatctx::ort
