// A graph of a container, chosen for the machine, with the views that an inner session reads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/description.h"
#include "runtime/ort/ep/api.h"

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
  std::string unit;  // empty: `name`, or the only one
  std::string name;  // of the node
};

// What the machine takes of a container, for any number of graphs of it.
class GraphChoice {
 public:
  // `group` empty: the only one. Errors: no_match (with the reason for every record), invalid_argument of select() as
  // malformed; those of Container::describe.
  [[nodiscard]] static Result<GraphChoice> of(const Container& container, const std::string& group);

  // Errors: not_found (listing the units); those of Container::acquire.
  [[nodiscard]] Result<ChosenGraph> graph(const GraphWanted& wanted) const;

 private:
  GraphChoice(Container container, Selection selection, ContainerDescription description, std::string explanation)
      : container_(std::move(container)),
        selection_(std::move(selection)),
        description_(std::move(description)),
        explanation_(std::move(explanation)) {}
  [[nodiscard]] Result<RecordInfo> record_of(const GraphWanted& wanted) const;

  Container container_;
  Selection selection_;
  ContainerDescription description_;
  std::string explanation_;
};

}  // namespace fatctx::ort
