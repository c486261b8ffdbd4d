// The initializers of one graph as values that point into the mapping, their unpacked and their prepacked forms. They
// exist once per process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ort/ep/chosen_graph.h"
#include "runtime/ort/graph/graph_tensors.h"
#include "runtime/ort/graph/graph_unpack.h"

namespace fatctx::ort {

// An initializer that is stored outside of its graph, and its bytes.
struct PlacedTensor {
  ExternalTensor tensor;
  ByteView bytes;  // within a view of the graph
};
// Returns all external initializers of the graph. Errors: malformed (one is not in a weight blob of the record, exceeds
// it, or has another size than its type and shape; errors of external_tensors()).
[[nodiscard]] Result<std::vector<PlacedTensor>> place_tensors(const ChosenGraph& graph);

// Returns the files of weights that the graph names.
[[nodiscard]] std::vector<DataFile> files_of(const ChosenGraph& graph);

// A set of weights that sessions borrow. It outlives every session that was created with it.
class SharedWeights {
 public:
  // Returns the weights of the graph; shares those of another session if it has them already. With `unpack`, the graph
  // works out its constants in a session of this environment, and sessions use unpacked(). Null: it stays as it is.
  // Errors: those of place_tensors().
  [[nodiscard]] static Result<std::shared_ptr<const SharedWeights>> of(const ChosenGraph& graph,
                                                                       const Ort::Env* unpack);

  void add_to(Ort::SessionOptions& options) const;
  // Returns the graph to use instead of the stored one, or null.
  [[nodiscard]] const UnpackedGraph* unpacked() const noexcept { return unpacked_ ? &*unpacked_ : nullptr; }
  // Returns the container of prepacked weights, which sessions share. It is thread-safe.
  [[nodiscard]] OrtPrepackedWeightsContainer* prepacked() const { return prepacked_; }

 private:
  struct Initializer {
    std::string name;
    Ort::Value value;
  };
  std::vector<RecordView> keep_alive_;  // declared before the members that point into it
  std::optional<UnpackedGraph> unpacked_;
  std::vector<Initializer> initializers_;
  mutable Ort::PrepackedWeightsContainer prepacked_;
};

}  // namespace fatctx::ort
