// The initializers of one graph as values that point into the mapping, and what kernels make of them, once in a
// process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/ort/ep/chosen_graph.h"
#include "runtime/ort/ep/graph_tensors.h"

namespace fatctx::ort {

// An initializer that lies outside of its graph, and its bytes.
struct PlacedTensor {
  ExternalTensor tensor;
  ByteView bytes;  // of a view of the graph
};
// Every one of the graph. Errors: malformed (one lies in no weight blob of the record, leaves it, or has another size
// than its type and shape; what external_tensors() says).
[[nodiscard]] Result<std::vector<PlacedTensor>> place_tensors(const ChosenGraph& graph);

// Borrowed by every session that was made with it, and outlives them.
class SharedWeights {
 public:
  // That of the graph, if a session has it already. `tensors` are those of place_tensors().
  [[nodiscard]] static std::shared_ptr<const SharedWeights> of(const ChosenGraph& graph,
                                                               const std::vector<PlacedTensor>& tensors);

  void add_to(Ort::SessionOptions& options) const;
  // What prepacking makes is shared through it; it locks by itself.
  [[nodiscard]] OrtPrepackedWeightsContainer* prepacked() const { return prepacked_; }

 private:
  struct Initializer {
    std::string name;
    Ort::Value value;
  };
  std::vector<RecordView> keep_alive_;  // before what points into them
  std::vector<Initializer> initializers_;
  mutable Ort::PrepackedWeightsContainer prepacked_;
};

}  // namespace fatctx::ort
