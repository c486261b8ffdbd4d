// Shows the model that a converter for Snapdragon lists in its JSON (`model_net.json`) as ONNX models are shown.
#pragma once

#include <string>
#include <string_view>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "tools/onnx/onnx_look.h"

namespace fatctx::tools {

// Returns an input or output of a graph as the tensor of a node.
[[nodiscard]] OnnxNodeTensor border_tensor(const DescribedTensor& described);

inline constexpr std::string_view kQnnGraph = "graph";  // stands for the name, which the JSON does not state

// Returns graph and nodes. It has no weights, sets of operators or activations: the JSON does not state these.
// Errors: those of read_text_file, parse_qnn_json and nodes_from_qnn_json.
[[nodiscard]] Result<OnnxLook> look_at_qnn_json(const std::string& path);

}  // namespace fatctx::tools
