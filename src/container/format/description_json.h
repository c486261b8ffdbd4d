// Writes parts of a description as JSON, in the same form in every report.
#pragma once

#include <vector>

#include "base/json.h"
#include "fatctx/description.h"

namespace fatctx::container {

[[nodiscard]] Json options_json(const std::vector<DescribedOption>& options);

// Returns name, inputs, outputs, and what else is stated.
[[nodiscard]] Json graph_json(const DescribedGraph& graph);

}  // namespace fatctx::container
