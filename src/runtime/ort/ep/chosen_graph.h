// A graph of a container, chosen for the machine, with the views that an inner session reads.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/description.h"
#include "fatctx/model.h"
#include "runtime/ort/ep/api.h"

namespace fatctx::ort {

struct WeightFile {
  std::string location;  // what the external data of the graph calls it
  std::string record;
  RecordView bytes;
};

// Equal for the same record with its weights at the same addresses: views of one record differ by how the container was
// opened (mapped, copied, verified or not).
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
  RecordView graph;    // an ONNX model without its weights
  std::vector<WeightFile> weights;
  std::string explanation;            // why this one, for the log
  std::vector<std::string> warnings;  // of the selection
};

// What this runtime is to the rules of selection: operators of ONNX, and its own version where others have an SDK.
[[nodiscard]] Device this_device();

// Which graph of a container is meant.
struct GraphWanted {
  std::string unit;  // empty: `name`, or the only one
  std::string name;  // of the node
};

// The target of a container for this runtime, for any number of its graphs.
struct ChosenTarget {
  Model model;
  ContainerDescription description;
};

// Chooses the target of `group`; empty: the only group. Errors: no_match (with the reason for every record),
// invalid_argument of select() as malformed; those of Container::describe.
[[nodiscard]] Result<ChosenTarget> choose_target(const Container& container, const std::string& group);

// Acquires a graph with its weights. Errors: not_found (listing the units); those of Container::acquire.
[[nodiscard]] Result<ChosenGraph> chosen_graph(const ChosenTarget& target, const GraphWanted& wanted);

}  // namespace fatctx::ort
