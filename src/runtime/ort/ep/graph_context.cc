#include "runtime/ort/ep/graph_context.h"

#include <onnx/onnx_pb.h>

#include <fstream>

#include "runtime/ort/ep/context_node.h"

namespace fatctx::ort {
namespace {

constexpr std::size_t kLongestName = 4096;  // PATH_MAX; an embedded container is longer

}  // namespace

std::vector<std::string> said_by_context_nodes(const std::string& model, std::string_view attribute) {
  std::ifstream file(model, std::ios::binary);
  onnx::ModelProto read;
  if (!file || !read.ParseFromIstream(&file)) return {};
  std::vector<std::string> said;
  for (const onnx::NodeProto& node : read.graph().node()) {
    if (node.op_type() != kContextOperator) continue;
    for (const onnx::AttributeProto& candidate : node.attribute()) {
      if (candidate.name() == attribute && candidate.s().size() <= kLongestName) said.push_back(candidate.s());
    }
  }
  return said;
}

}  // namespace fatctx::ort
