// Containers that sessions with ep.share_ep_contexts=1 have open, for other such sessions of the process.
//
// A model may name a container outside of its own folder, or come from memory. It then finds the container here, by the
// name in its node. A lookup does not remove the container: any number of sessions use it, and begin and end in any
// order.
#pragma once

#include <memory>
#include <string>

#include "fatctx/container.h"
#include "runtime/ort/ep/context_node.h"

namespace fatctx::ort {

// A session's share of a container. The container can be found while any session holds a share.
using SharedPlace = std::shared_ptr<const Container>;

// Returns true if one of its records for our backend is the graph that the node refers to.
[[nodiscard]] Result<bool> has_graph(const Container& container, const ContextNode& node);

// Registers `container` under the name in `node`. If a container with the same content is registered under that name
// already, returns that one. Other containers under that name stay registered.
[[nodiscard]] SharedPlace share_container(const ContextNode& node, const Container& container);
// Returns a container that was shared under the name in `node` and has its graph; otherwise null. For a node without a
// name (not a main node), returns the container that has its graph, if there is exactly one.
[[nodiscard]] SharedPlace find_shared(const ContextNode& node);

}  // namespace fatctx::ort
