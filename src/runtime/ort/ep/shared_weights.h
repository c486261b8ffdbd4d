// The initializers of one graph as values that point into the mapping; their unpacked, arranged and prepacked forms.
// They exist once per process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ort/ep/chosen_graph.h"
#include "runtime/ort/graph/graph_prepared.h"
#include "runtime/ort/graph/graph_tensors.h"

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

// How the convolutions of a graph were laid out for the processor.
struct Layout {
  std::size_t nodes = 0;         // how many nodes work on blocks of channels
  std::uint64_t size_bytes = 0;  // how much memory the rearranged weights take
  std::string failed;            // why the layout failed; empty if it did not
};

// A set of weights that sessions borrow. It outlives every session that was created with it.
class SharedWeights {
 public:
  struct Share;
  // Returns the weights of the graph; shares those of another session if it has them already. With `prepare`, the graph
  // is prepared in sessions of this environment: it works out its constants and lays out its convolutions, and sessions
  // use prepared(). Null: it stays as it is. If the layout fails, layout() has the reason.
  // Errors: those of place_tensors().
  [[nodiscard]] static Result<Share> of(const ChosenGraph& graph, const Ort::Env* prepare);

  void add_to(Ort::SessionOptions& options) const;
  // Returns the graph to use instead of the stored one, or null.
  [[nodiscard]] const PreparedGraph* prepared() const noexcept { return prepared_ ? &*prepared_ : nullptr; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  // Returns the container of prepacked weights, which sessions share. It is thread-safe.
  [[nodiscard]] OrtPrepackedWeightsContainer* prepacked() const { return prepacked_; }

 private:
  struct Initializer {
    std::string name;
    Ort::Value value;
  };
  void prepare(const ChosenGraph& graph, const Ort::Env& env);

  std::vector<RecordView> keep_alive_;  // declared before the members that point into it
  std::optional<PreparedGraph> prepared_;
  Layout layout_;
  std::vector<Initializer> initializers_;
  mutable Ort::PrepackedWeightsContainer prepacked_;
};

struct SharedWeights::Share {
  std::shared_ptr<const SharedWeights> weights;
  bool made = false;  // by this call
};

}  // namespace fatctx::ort
