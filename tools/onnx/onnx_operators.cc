#include "tools/onnx/onnx_operators.h"

#include <optional>
#include <set>
#include <string_view>

#include "tools/onnx/onnx_file.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

namespace {

using Types = std::map<std::string_view, int>;  // element types by name of a tensor

const onnx::TensorProto* constant_of(const onnx::NodeProto& node) {
  if (node.op_type() != "Constant") return nullptr;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "value" && attribute.has_t()) return &attribute.t();
  }
  return nullptr;
}

// Returns the types of constants, and of what QuantizeLinear gives. Nodes of a model are in the order of their
// computation.
Types stored_types(const onnx::GraphProto& graph) {
  Types types;
  for (const onnx::TensorProto& tensor : graph.initializer()) types.emplace(tensor.name(), tensor.data_type());
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.output_size() == 0) continue;
    if (const onnx::TensorProto* constant = constant_of(node)) types.emplace(node.output(0), constant->data_type());
    if (node.op_type() != "QuantizeLinear") continue;
    const auto zero_point = types.find(node.input_size() > 2 ? node.input(2) : std::string());
    if (zero_point != types.end()) types.emplace(node.output(0), zero_point->second);
  }
  return types;
}

// Returns the type of the number that DequantizeLinear reads; nothing for other nodes.
std::optional<int> dequantised_type(const onnx::NodeProto& node, const Types& types) {
  if (node.op_type() != "DequantizeLinear" || node.input_size() < 2 || node.output_size() == 0) return std::nullopt;
  for (const int at : {2, 0}) {
    if (node.input_size() <= at || node.input(at).empty()) continue;
    const auto found = types.find(node.input(at));
    if (found != types.end()) return found->second;
  }
  return std::nullopt;
}

class Counter {
 public:
  explicit Counter(const onnx::ModelProto& model) {
    for (const onnx::FunctionProto& function : model.functions()) {
      own_functions_.insert(operator_name(function.domain(), function.name()));
    }
    graph(model.graph());
    for (const onnx::FunctionProto& function : model.functions()) {
      for (const onnx::NodeProto& node : function.node()) count(node);
    }
  }

  OperatorUse take() && { return std::move(use_); }

 private:
  void graph(const onnx::GraphProto& graph) {
    const Types types = stored_types(graph);
    std::map<std::string_view, int> dequantised;
    for (const onnx::NodeProto& node : graph.node()) {
      if (const std::optional<int> type = dequantised_type(node, types)) dequantised.emplace(node.output(0), *type);
      if (node.op_type() == "MatMul" && node.input_size() == 2) {
        const auto left = dequantised.find(node.input(0));
        const auto right = dequantised.find(node.input(1));
        if (left != dequantised.end() && right != dequantised.end()) {
          ++use_.matmul_types[{element_type_name(left->second), element_type_name(right->second)}];
        }
      }
      count(node);
    }
  }

  void count(const onnx::NodeProto& node) {
    const std::string name = operator_name(node.domain(), node.op_type());
    if (node.op_type() != "Constant" && node.op_type() != "EPContext" && !own_functions_.contains(name)) {
      ++use_.nodes[name];
    }
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) graph(attribute.g());
      for (const onnx::GraphProto& inner : attribute.graphs()) graph(inner);
    }
  }

  std::set<std::string> own_functions_;
  OperatorUse use_;
};

}  // namespace

OperatorUse operators_used(const onnx::ModelProto& model) { return Counter(model).take(); }

}  // namespace fatctx::tools
