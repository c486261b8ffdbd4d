// Containers that lie inside of models, one copy in a process for all sessions of equal ones.
#pragma once

#include "fatctx/container.h"
#include "runtime/ort/ep/context_node.h"

namespace fatctx::ort {

// ONNX Runtime keeps the payload in an attribute of its own that goes away with the session, so it is copied once.
// Errors: malformed (there is no payload), those of Container::open.
[[nodiscard]] Result<Container> open_embedded(const ContextNode& node, const OpenOptions& options);

}  // namespace fatctx::ort
