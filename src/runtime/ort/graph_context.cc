#include "runtime/ort/graph_context.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <fstream>

#include "runtime/ort/context_node.h"

namespace fatctx::ort {

bool has_context_node(const std::string& model, std::string_view attribute, std::string_view text) {
  std::ifstream file(model, std::ios::binary);
  onnx::ModelProto read;
  if (!file || !read.ParseFromIstream(&file)) return false;
  return std::ranges::any_of(read.graph().node(), [&](const onnx::NodeProto& node) {
    return node.op_type() == kContextOperator &&
           std::ranges::any_of(node.attribute(), [&](const onnx::AttributeProto& said) {
             return said.name() == attribute && said.s() == text;
           });
  });
}

}  // namespace fatctx::ort
