// Reads the vendor's JSON about graphs. `qnn-context-binary-utility` prints it for a context binary
// (info.graphs), and the converters write it beside a model, as `model_net.json` (graph.tensors). ONNX
// Runtime's script gen_qnn_ctx_onnx_model.py reads the same two.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "tools/onnx/onnx_wrapper.h"

namespace fatctx::tools {

struct QnnJson {
  std::string build_id;                   // identifies the SDK build; empty: not stated
  std::vector<WrappedGraph> graphs;       // the one of a converter has no name
  std::vector<DescribedGraph> described;  // the same graphs, with all that is stated of them
  // Fixed-point tensors for which the file has no scale of the whole tensor: "graph "g": tensor "x" ...".
  std::vector<std::string> notes;
  std::vector<DescribedOption> facts;  // what else it says: the converter's command, copyright, versions
};

// Returns the scale of an 8-bit or 16-bit tensor as a whole; nothing for others.
[[nodiscard]] std::optional<TensorQuantisation> described_quantisation(const DescribedTensor& tensor);

// Parses the text. Errors: invalid_argument with JSON pointer, the found and the allowed values; also for a
// file of neither form.
[[nodiscard]] Result<QnnJson> parse_qnn_json(std::string_view text, const std::string& file);

// Reads and parses a file. Errors: also those of read_text_file.
[[nodiscard]] Result<QnnJson> read_qnn_json(const std::string& path);

}  // namespace fatctx::tools
