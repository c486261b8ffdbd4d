// Reads what the tools for Snapdragon state about the graphs of a context binary, as JSON. It becomes part of the
// record's description (fatctx/description.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"

namespace fatctx {

struct QnnGraphs {
  std::string build_id;                // identifies the SDK build; empty: not stated
  std::vector<DescribedGraph> graphs;  // the one of a converter has no name
  // Fixed-point tensors for which the text has no scale of the whole tensor: "graph "g": tensor "x" ...".
  std::vector<std::string> notes;
};

// Parses one of two forms: `info.graphs`, as qnn-context-binary-utility prints it for a context binary, or
// `graph.tensors`, as the converters write it beside a model. Tensors of a converter come in the order of their ids,
// which is that of the graph. `file` is named in errors.
// Errors: invalid_argument with the JSON pointer, the found and the allowed values; also for a text of neither form.
[[nodiscard]] Result<QnnGraphs> graphs_from_qnn_json(std::string_view text, const std::string& file);

}  // namespace fatctx
