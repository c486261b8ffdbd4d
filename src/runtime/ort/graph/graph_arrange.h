// Lays out the convolutions of a graph for the processor of this machine, once for sessions that share the result.
//
// ONNX Runtime arranges images and weights in blocks of channels (NCHWc), whose size depends on the processor. A packed
// graph is portable, so it has no such blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "fatctx/base/result.h"
#include "runtime/ort/graph/api.h"
#include "runtime/ort/graph/graph_prepared.h"

namespace fatctx::ort {

struct ArrangedGraph {
  PreparedGraph graph;
  std::size_t nodes = 0;  // those that work on blocks of channels
};

// Optimises the graph with every optimiser of ONNX Runtime. Weights with the same bytes as in `files` stay there, but
// not those in `passing`, a file of `files` that will not exist any longer; all others are in the result.
// Returns nothing if the graph has no convolution, or none that has such a form on this processor.
// Errors: malformed (with the message of ONNX Runtime), truncated, io, no_resource, no_space.
[[nodiscard]] Result<std::optional<ArrangedGraph>> arrange_graph(ByteView model, std::span<const DataFile> files,
                                                                 std::string_view passing, const Ort::Env& env);

}  // namespace fatctx::ort
