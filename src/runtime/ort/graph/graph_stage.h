// From a graph of ONNX Runtime to a graph that can be packed.
#pragma once

#include <cstdint>
#include <string>

#include "mapping/work_folder.h"
#include "runtime/ort/graph/graph_tensors.h"
#include "runtime/ort/graph/optimise.h"

namespace fatctx::ort {

struct GraphToStage {
  Ort::ConstGraph graph;
  Ort::ConstNode fused;  // represents it in the model
  std::string unit;      // its name in the container
  std::string source;    // path of the model that the session has read; empty: from memory
};

struct StageOptions {
  Optimisation optimisation = Optimisation::kExtended;
  bool grow_constants = false;  // works out constants also where that makes weights larger
};

struct StagedResult {
  StagedGraph graph;
  std::uint64_t source_bytes = 0;     // the weights of the model before folding
  bool optimised_by_session = false;  // the session has changed the model before this provider was asked
};

// Optimises the graph as the options ask for, without constants that become larger, and writes its weights to files in
// `folder`. Equal models give equal results.
// Errors: those of write_graph() and optimise_graph().
[[nodiscard]] Result<StagedResult> stage_graph(const mapping::WorkFolder& folder, const GraphToStage& graph,
                                               const StageOptions& options, const Ort::Env& env);

// Returns the bytes of a model with its external data; 0 if it cannot be read.
[[nodiscard]] std::uint64_t bytes_of_model(const std::string& path);

}  // namespace fatctx::ort
