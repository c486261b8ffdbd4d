// A graph of a container that was chosen for this machine, with the views that an inner session reads.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/description.h"
#include "fatctx/model.h"
#include "runtime/ort/graph/api.h"

namespace fatctx::ort {

struct WeightFile {
  std::string location;  // the name that the graph uses for this external data file
  std::string record;
  RecordView bytes;
};

// A key that is equal for the same record with its weights at the same addresses. Views of one record differ by how the
// container was opened (mapped, copied, verified or not).
struct GraphKey {
  ContainerIdentity container;
  std::uint32_t record_id = 0;
  std::vector<std::uintptr_t> weights;
  friend auto operator<=>(const GraphKey&, const GraphKey&) = default;
};

struct ChosenGraph {
  GraphKey key;
  std::string record;
  std::string unit;
  std::string digest;  // XXH3-128 over the hashes of the graph and of its weight blobs, hexadecimal
  RecordView graph;    // an ONNX model; its weights are stored outside of it
  std::vector<WeightFile> weights;
  std::string explanation;                     // why this graph was chosen, for the log
  std::vector<std::string> warnings;           // of the selection
  std::optional<Container> container = {};     // its handle may still be checking the weights (kBesideLoad)
  std::vector<std::uint32_t> weight_ids = {};  // of `weights`

  // Waits for these checks, if there are any. Errors: those of Container::await_checks.
  [[nodiscard]] Status await_checks() const;
};

// Returns the device that selection sees: its arch is ONNX operators, and its SDK version is that of ONNX Runtime.
[[nodiscard]] Device this_device();

// The graph of a container that a node refers to.
struct GraphWanted {
  std::string unit;  // empty: `name`, or the only one
  std::string name;  // of the node
};

// The target of a container that was chosen for this runtime; it provides any number of graphs.
struct ChosenTarget {
  Model model;
  ContainerDescription description;
};

// Chooses the target of `group`; if empty, of the only group.
// Errors: no_match (with the reason for every record), malformed instead of invalid_argument of select(), those of
// Container::describe.
[[nodiscard]] Result<ChosenTarget> choose_target(const Container& container, const std::string& group);

// Acquires a graph with its weights. Errors: not_found (listing the units), those of Container::acquire.
[[nodiscard]] Result<ChosenGraph> chosen_graph(const ChosenTarget& target, const GraphWanted& wanted);

}  // namespace fatctx::ort
