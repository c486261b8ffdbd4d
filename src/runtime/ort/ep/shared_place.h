// Containers that sessions with ep.share_ep_contexts=1 have open, for other such sessions of the process.
//
// A model that names a container that is not in its own folder, or that comes from memory, finds it here by the name it
// has for it. Nothing is taken out: any number of sessions use one container, and begin and end in any order.
#pragma once

#include <memory>
#include <string>

#include "fatctx/container.h"
#include "runtime/ort/ep/context_node.h"

namespace fatctx::ort {

// A session's share: while any session holds one, the container can be found.
using SharedPlace = std::shared_ptr<const Container>;

// Whether one of its records for our backend is the graph that the node means.
[[nodiscard]] bool has_graph(const Container& container, const ContextNode& node);

// Makes `container` known under the name in `node`. If another one is known under it, that one stays, unless it is of
// the same bytes.
[[nodiscard]] SharedPlace share_container(const ContextNode& node, const Container& container);
// A container that was shared under the name in `node`, and has its graph; or null. Of a node without a name (one that
// is no main node): any that has its graph, if that is one only.
[[nodiscard]] SharedPlace find_shared(const ContextNode& node);

}  // namespace fatctx::ort
