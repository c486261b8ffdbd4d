// A graph of a container, chosen for the machine, with the views that an inner session reads.
#pragma once

#include <string>
#include <vector>

#include "fatctx/container.h"
#include "runtime/ort/api.h"

namespace fatctx::ort {

struct WeightFile {
  std::string location;  // what the external data of the graph calls it
  std::string record;
  RecordView bytes;
};

struct ChosenGraph {
  std::string key;  // the same for the same record with its weights at the same addresses
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
  std::string group;  // empty: the only one
  std::string unit;   // empty: `name`, or the only one
  std::string name;   // of the node
};

// Errors: no_match (with the reason for every record), not_found
// (listing the units), invalid_argument of select() as malformed; those of Container::acquire.
[[nodiscard]] Result<ChosenGraph> choose_graph(const Container& container, const GraphWanted& wanted);

}  // namespace fatctx::ort
