// The initializers of one graph as values that point into the mapping, and what kernels make of them, once in a
// process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/ort/chosen_graph.h"

namespace fatctx::ort {

// Borrowed by every session that was made with it, and outlives them.
class SharedWeights {
 public:
  // That of the graph, if a session has it already. Errors: malformed (an initializer that lies in no weight blob of
  // the record, or leaves it).
  [[nodiscard]] static Result<std::shared_ptr<const SharedWeights>> of(const ChosenGraph& graph);

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
