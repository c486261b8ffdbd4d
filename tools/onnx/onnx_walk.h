// Goes through the graphs of a model in one order, which both the list of nodes and the inferred shapes keep.
#pragma once

#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "fatctx/base/result.h"
#include "tools/onnx/onnx_look.h"

namespace fatctx::tools {

struct OnnxGraphPlace {
  const onnx::GraphProto* graph = nullptr;
  std::string name;        // "main", "main/3 If then_branch"
  std::size_t parent = 0;  // index of the graph around it; of the main graph itself
};

// Returns the main graph and the graphs inside it, each before those inside it.
// Lifetime: points into `model`.
[[nodiscard]] std::vector<OnnxGraphPlace> onnx_graphs(const onnx::ModelProto& model);

// Returns type and sizes as the model states them.
[[nodiscard]] OnnxShape shape_of(const onnx::ValueInfoProto& value);

// Reads a model from its bytes or its file. Errors: those of load_onnx.
[[nodiscard]] Result<onnx::ModelProto> load_onnx_source(const OnnxSource& source);

}  // namespace fatctx::tools
