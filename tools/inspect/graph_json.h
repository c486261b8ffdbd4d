// Writes a graph as JSON, in the form that `fatctx info` has for graphs of records.
#pragma once

#include "base/json.h"
#include "fatctx/description.h"

namespace fatctx::tools {

[[nodiscard]] Json described_graph_json(const DescribedGraph& graph);

}  // namespace fatctx::tools
