// Formats a container for `fatctx info`.
#pragma once

#include <string>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/description.h"

namespace fatctx::tools {

[[nodiscard]] std::string header_text(const Container& container, const ContainerDescription& description);
[[nodiscard]] std::string record_table_text(const Container& container);
// Returns source models, context binaries with their targets, and weights: the output of a compiler for
// several SoCs.
[[nodiscard]] std::string parts_text(const Container& container);
// Returns where everything is in the file.
[[nodiscard]] std::string extents_text(const Container& container);
[[nodiscard]] std::string degraded_text(const OpenReport& report);  // empty if nothing is lost
[[nodiscard]] std::string record_details_text(const Container& container, const ContainerDescription& description);
[[nodiscard]] std::string graph_text(const DescribedGraph& graph);
[[nodiscard]] std::string graphs_text(const Container& container, const ContainerDescription& description);
[[nodiscard]] std::string options_text(const Container& container, const ContainerDescription& description);
[[nodiscard]] std::string tensors_text(const TensorTable& table);
[[nodiscard]] std::string layout_text();

}  // namespace fatctx::tools
