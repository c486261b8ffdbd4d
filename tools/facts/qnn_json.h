// The vendor's JSON about graphs: what `qnn-context-binary-utility` says of a context binary (info.graphs), and what
// its converters leave beside a model, `model_net.json` (graph.tensors). ONNX Runtime's script
// gen_qnn_ctx_onnx_model.py reads the same two.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/onnx/onnx_wrapper.h"

namespace fatctx::tools {

struct QnnJson {
  std::string build_id;              // of the SDK; empty: the file does not say
  std::vector<WrappedGraph> graphs;  // the one of a converter has no name
  // Tensors in fixed point of which the file says no scale for the whole tensor: "graph "g": tensor "x" ...".
  std::vector<std::string> notes;
};

// Errors: invalid_argument with JSON pointer, what was found and what is allowed; a file of neither form.
[[nodiscard]] Result<QnnJson> parse_qnn_json(std::string_view text, const std::string& file);

// The same for a file. Errors: also those of read_text_file.
[[nodiscard]] Result<QnnJson> read_qnn_json(const std::string& path);

}  // namespace fatctx::tools
