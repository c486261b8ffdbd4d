#include "tools/onnx/onnx_walk.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tools/onnx/onnx_file.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

std::vector<OnnxGraphPlace> onnx_graphs(const onnx::ModelProto& model) {
  const std::string& name = model.graph().name();
  std::vector<OnnxGraphPlace> graphs = {{&model.graph(), name.empty() ? "main" : name, 0}};
  for (std::size_t at = 0; at < graphs.size(); ++at) {  // grows while it runs, so that depth costs no stack
    const OnnxGraphPlace outer = graphs[at];
    for (int i = 0; i < outer.graph->node_size(); ++i) {
      const onnx::NodeProto& node = outer.graph->node(i);
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        const std::string inner = fmt::format("{}/{} {} {}", outer.name, i, node.op_type(), attribute.name());
        if (attribute.has_g()) graphs.push_back({&attribute.g(), inner, at});
        for (const onnx::GraphProto& graph : attribute.graphs()) graphs.push_back({&graph, inner, at});
      }
    }
  }
  return graphs;
}

OnnxShape shape_of(const onnx::ValueInfoProto& value) {
  OnnxShape shape;
  if (!value.type().has_tensor_type()) return shape;
  const auto& type = value.type().tensor_type();
  if (type.elem_type() != onnx::TensorProto::UNDEFINED) shape.dtype = element_type_name(type.elem_type());
  if (!type.has_shape()) return shape;
  shape.sizes.emplace();
  for (const auto& dim : type.shape().dim()) {
    shape.sizes->push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  }
  return shape;
}

Result<onnx::ModelProto> load_onnx_source(const OnnxSource& source) {
  if (source.content.empty()) return load_onnx(source.path);
  return parse_onnx(source.content, source.path);
}

}  // namespace fatctx::tools
