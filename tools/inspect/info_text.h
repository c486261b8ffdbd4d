// Formats a container for `fatctx info`. Lines have at most `width` columns, as far as words allow; 0: any number.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/description.h"
#include "fatctx/presence.h"
#include "tools/inspect/filters.h"

namespace fatctx::tools {

// A report without records stands for a container whose payload is elsewhere.
[[nodiscard]] std::string header_text(const Container& container, const ContainerDescription& description,
                                      const PresenceReport& presence, std::size_t width);
[[nodiscard]] std::string record_table_text(const Container& container, const PresenceReport& presence,
                                            const ViewFilter& filter, std::size_t width);
// Returns source models, context binaries with their targets, and weights: the output of a compiler for
// several SoCs.
[[nodiscard]] std::string parts_text(const Container& container, std::size_t width);
// Returns where everything is in the file.
[[nodiscard]] std::string extents_text(const Container& container, std::size_t width);
// Returns which records the file has, in bytes and in words.
[[nodiscard]] std::string presence_text(const Container& container, const PresenceReport& presence);
[[nodiscard]] std::string degraded_text(const OpenReport& report);  // empty if nothing is lost
[[nodiscard]] std::string record_details_text(const Container& container, const ContainerDescription& description,
                                              const ViewFilter& filter, std::size_t width);
[[nodiscard]] std::string graph_text(const DescribedGraph& graph, std::size_t width);
[[nodiscard]] std::string graphs_text(const Container& container, const ContainerDescription& description,
                                      const ViewFilter& filter, std::size_t width);
[[nodiscard]] std::string options_text(const Container& container, const ContainerDescription& description);
[[nodiscard]] std::string tensors_text(const TensorTable& table, const ViewFilter& filter, std::size_t width);
[[nodiscard]] std::string layout_text();

}  // namespace fatctx::tools
