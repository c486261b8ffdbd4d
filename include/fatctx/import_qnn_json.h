// Reads what the tools for Snapdragon state about the graphs of a context binary, as JSON. It becomes part of the
// record's description (fatctx/description.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
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
  // Further facts in the text, under the keys there: the converter's command, copyright, versions. A command may name
  // folders of the machine that ran it, so these are for people, not for descriptions of records.
  std::vector<DescribedOption> facts = {};
};

// Parses one of two forms: `info.graphs`, as qnn-context-binary-utility prints it for a context binary, or
// `graph.tensors`, as the converters write it beside a model. Tensors of a converter come in the order of their ids,
// which is that of the graph. `file` is named in errors.
// Errors: invalid_argument with the JSON pointer, the found and the allowed values; also for a text of neither form.
[[nodiscard]] Result<QnnGraphs> graphs_from_qnn_json(std::string_view text, const std::string& file);

// An operator of a converted model.
struct QnnNode {
  std::string name;
  std::string op;  // "Conv2d"; with the package if that is not the vendor's own, "my.ops:Scale"
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<DescribedOption> parameters;  // values as JSON; a long one is cut
  std::optional<std::uint64_t> macs;        // multiply-adds; nothing: not stated
};

struct QnnNodes {
  std::vector<QnnNode> nodes;            // in the order of the text
  std::vector<DescribedTensor> tensors;  // those with a type and a shape that are understood
  std::set<std::string> weights;         // names of those that the model stores
};

// Returns the operators that a converter lists (`graph.nodes`).
// Errors: those of graphs_from_qnn_json; unsupported, for the text of a context binary, which states no operators.
[[nodiscard]] Result<QnnNodes> nodes_from_qnn_json(std::string_view text, const std::string& file);

}  // namespace fatctx
