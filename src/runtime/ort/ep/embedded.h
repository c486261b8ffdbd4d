// Containers that are embedded in models. Equal ones exist once per process and are shared by all sessions.
#pragma once

#include "fatctx/container.h"
#include "runtime/ort/ep/context_node.h"

namespace fatctx::ort {

// Opens the embedded container. ONNX Runtime keeps the payload in an attribute that ends with the session, so the
// payload is copied once. Errors: malformed (there is no payload), those of Container::open.
[[nodiscard]] Result<Container> open_embedded(const ContextNode& node, const OpenOptions& options);

}  // namespace fatctx::ort
