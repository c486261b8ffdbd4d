// Finds the file that an EPContext node names, and opens the container in it.
#pragma once

#include <string>

#include "fatctx/container.h"
#include "runtime/ort/ep/context_node.h"
#include "runtime/ort/ep/options.h"

namespace fatctx::ort {

struct PlaceOfModel {
  std::string model_path;  // from ONNX Runtime; empty for a model from memory
};

// Opens the container of a main node. It is the payload of the node, or the file of the option `container`.
// Otherwise the name in the node is searched in three folders: that of ep.context_file_path, that of the model, and, if
// the model is a link, that of its target.
// Errors: malformed (the name is empty, absolute, or leaves the folder), not_found (naming every place searched), those
// of Container::open.
[[nodiscard]] Result<Container> open_container(const ContextNode& node, const PlaceOfModel& place,
                                               const Options& options);

}  // namespace fatctx::ort
