// Which file is meant by the name in an EPContext node, and the container in it.
#pragma once

#include <string>

#include "fatctx/container.h"
#include "runtime/ort/ep/context_node.h"
#include "runtime/ort/ep/options.h"

namespace fatctx::ort {

struct PlaceOfModel {
  std::string model_path;  // as ONNX Runtime tells it; empty for a model from memory
};

// The container of a main node: the payload of the node, the file of the option `container`, or the first that is there
// of what the node names in the folder of ep.context_file_path, of the model, and of the file that the model is a link
// to. Errors: malformed (the name is empty, absolute, or leaves the folder), not_found (naming every place that was
// looked at), those of Container::open.
[[nodiscard]] Result<Container> open_container(const ContextNode& node, const PlaceOfModel& place,
                                               const Options& options);

}  // namespace fatctx::ort
