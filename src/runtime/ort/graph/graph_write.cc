#include "runtime/ort/graph/graph_write.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/ort/attach/element_types.h"
#include "runtime/ort/graph/graph_file.h"
#include "runtime/ort/graph/graph_hoist.h"
#include "runtime/ort/graph/graph_walk.h"
#include "runtime/ort/graph/graph_weight_file.h"

namespace fatctx::ort {
namespace {

class GraphWriter {
 public:
  // `inputs` are those of the main graph.
  GraphWriter(GraphWeightFile& weights, std::set<std::string> inputs) : weights_(weights), inputs_(std::move(inputs)) {}

  Status write(const Ort::ConstGraph& graph, onnx::GraphProto& proto, bool main) {
    for (const Ort::ConstValueInfo& initializer : graph.GetInitializers()) {
      // An inner graph also lists the initializers that it uses from the outer graph.
      if (initializer.IsFromOuterScope()) continue;
      // An initializer that callers of the model may replace is also listed as an input.
      if (main && inputs_.contains(initializer.GetName())) continue;
      FATCTX_TRY(write_initializer(initializer, *proto.add_initializer()));
    }
    for (const Ort::ConstNode& node : graph.GetNodes()) FATCTX_TRY(write_node(node, *proto.add_node()));
    return Done{};
  }

  // Writes an input or output of the main graph. An output gets a type but no shape: ONNX Runtime infers the shape
  // where possible. A declared shape would only be a hint that runs need not match.
  static Status write_port(const Ort::ConstValueInfo& value, onnx::ValueInfoProto& proto, bool output) {
    const auto type = value.TypeInfo();
    if (type.GetONNXType() != ONNX_TYPE_TENSOR) {
      return Error{
          ErrorCode::kUnsupported,
          fmt::format("\"{}\" is not a tensor, and EPContext nodes take and give tensors only", value.GetName())};
    }
    const auto tensor = type.GetTensorTypeAndShapeInfo();
    if (tensor.GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("\"{}\" is a tensor of strings, which EPContext nodes do not take", value.GetName())};
    }
    proto.set_name(value.GetName());
    auto* const out = proto.mutable_type()->mutable_tensor_type();
    set_type(tensor, *out);
    if (!output) add_dims(tensor, *out);
    return Done{};
  }

  // Returns the domains of all nodes.
  [[nodiscard]] const std::set<std::string>& domains() const noexcept { return domains_; }

 private:
  using TensorInfo = Ort::ConstTensorTypeAndShapeInfo;

  static void set_type(const TensorInfo& tensor, onnx::TypeProto::Tensor& out) {
    // Both enumerations use the same numbers.
    out.set_elem_type(static_cast<int>(tensor.GetElementType()));
  }

  // Adds no dimensions for an empty shape: it means an unknown rank or a scalar.
  static void add_dims(const TensorInfo& tensor, onnx::TypeProto::Tensor& out) {
    const std::vector<std::int64_t> shape = tensor.GetShape();
    const std::vector<const char*> symbols = tensor.GetSymbolicDimensions();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      auto* const dimension = out.mutable_shape()->add_dim();
      if (shape[i] >= 0) {
        dimension->set_dim_value(shape[i]);
      } else if (i < symbols.size() && symbols[i] != nullptr && *symbols[i] != '\0') {
        dimension->set_dim_param(symbols[i]);
      }
    }
  }

  // Writes a port of an inner graph. With `ranked`, the shape is always declared: a port of unknown rank cannot run
  // there, so an empty shape is a scalar.
  static void write_inner_port(const Ort::ConstValueInfo& value, onnx::ValueInfoProto& proto, bool ranked) {
    proto.set_name(value.GetName());
    const auto type = value.TypeInfo();
    if (type.GetONNXType() != ONNX_TYPE_TENSOR) return;  // known from the nodes
    const auto tensor = type.GetTensorTypeAndShapeInfo();
    auto* const out = proto.mutable_type()->mutable_tensor_type();
    set_type(tensor, *out);
    add_dims(tensor, *out);
    if (ranked) (void)out->mutable_shape();
  }

  Status write_tensor(const Ort::ConstValue& value, onnx::TensorProto& proto, bool may_be_outside) {
    const auto info = value.GetTensorTypeAndShapeInfo();
    proto.set_data_type(static_cast<int>(info.GetElementType()));
    for (const std::int64_t size : info.GetShape()) proto.add_dims(size);
    if (info.GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
      for (std::size_t i = 0; i < info.GetElementCount(); ++i) proto.add_string_data(value.GetStringTensorElement(i));
      return Done{};
    }
    const std::size_t size = value.GetTensorSizeInBytes();
    const void* const data = value.GetTensorRawData();
    if (may_be_outside && size >= kExternalBytes) {
      weights_.add(proto, {static_cast<const char*>(data), size});
    } else {
      proto.set_raw_data(data, size);
    }
    return Done{};
  }

  Status write_initializer(const Ort::ConstValueInfo& initializer, onnx::TensorProto& proto) {
    proto.set_name(initializer.GetName());
    Ort::ConstValue value{nullptr};
    Ort::ThrowOnError(initializer.GetInitializer(value));
    return write_tensor(value, proto, true);
  }

  template <typename T, typename Add>
  static void add_all(const Ort::ConstOpAttr& attribute, const Add& add) {
    std::vector<T> values;
    Ort::ThrowOnError(attribute.GetValueArray(values));
    for (const T& value : values) add(value);
  }

  Status write_attribute(const Ort::ConstNode& node, const Ort::ConstOpAttr& attribute, onnx::AttributeProto& proto) {
    proto.set_name(attribute.GetName());
    switch (attribute.GetType()) {
      case ORT_OP_ATTR_INT: {
        std::int64_t value = 0;
        Ort::ThrowOnError(attribute.GetValue(value));
        proto.set_type(onnx::AttributeProto::INT);
        proto.set_i(value);
        return Done{};
      }
      case ORT_OP_ATTR_FLOAT: {
        float value = 0;
        Ort::ThrowOnError(attribute.GetValue(value));
        proto.set_type(onnx::AttributeProto::FLOAT);
        proto.set_f(value);
        return Done{};
      }
      case ORT_OP_ATTR_STRING: {
        std::string value;
        Ort::ThrowOnError(attribute.GetValue(value));
        proto.set_type(onnx::AttributeProto::STRING);
        proto.set_s(value);
        return Done{};
      }
      case ORT_OP_ATTR_INTS:
        proto.set_type(onnx::AttributeProto::INTS);
        add_all<std::int64_t>(attribute, [&](std::int64_t value) { proto.add_ints(value); });
        return Done{};
      case ORT_OP_ATTR_FLOATS:
        proto.set_type(onnx::AttributeProto::FLOATS);
        add_all<float>(attribute, [&](float value) { proto.add_floats(value); });
        return Done{};
      case ORT_OP_ATTR_STRINGS:
        proto.set_type(onnx::AttributeProto::STRINGS);
        add_all<std::string>(attribute, [&](const std::string& value) { proto.add_strings(value); });
        return Done{};
      case ORT_OP_ATTR_TENSOR: {
        Ort::Value value{nullptr};
        Ort::ThrowOnError(attribute.GetTensorAttributeAsOrtValue(value));
        proto.set_type(onnx::AttributeProto::TENSOR);
        return write_tensor(value.GetConst(), *proto.mutable_t(), false);
      }
      default:
        return Error{ErrorCode::kUnsupported,
                     fmt::format("node \"{}\" ({}): attribute {} is of a type that cannot be handed on", node.GetName(),
                                 node.GetOperatorType(), attribute.GetName())};
    }
  }

  Status write_subgraph(const std::string& operator_type, const Ort::ConstGraph& graph, onnx::GraphProto& proto) {
    proto.set_name(graph.GetName().empty() ? "body" : graph.GetName());
    // ONNX Runtime requires the rank of the iteration number and the condition of a Loop, and of all outputs of a Scan.
    const std::size_t ranked_inputs = operator_type == "Loop" ? 2 : 0;
    const bool ranked_outputs = operator_type == "Scan";
    std::size_t i = 0;
    for (const auto& input : graph.GetInputs()) write_inner_port(input, *proto.add_input(), i++ < ranked_inputs);
    for (const auto& output : graph.GetOutputs()) write_inner_port(output, *proto.add_output(), ranked_outputs);
    return write(graph, proto, false);
  }

  Status write_node(const Ort::ConstNode& node, onnx::NodeProto& proto) {
    proto.set_name(node.GetName());
    proto.set_op_type(node.GetOperatorType());
    proto.set_domain(node.GetDomain());
    domains_.insert(node.GetDomain());
    for (const auto& input : node.GetInputs()) proto.add_input(input == nullptr ? "" : input.GetName());
    for (const auto& output : node.GetOutputs()) proto.add_output(output == nullptr ? "" : output.GetName());
    std::set<std::string> graphs;
    for (const Ort::AttrNameSubgraph& inner : node.GetSubgraphs()) {
      auto* const attribute = proto.add_attribute();
      attribute->set_name(inner.attr_name);
      attribute->set_type(onnx::AttributeProto::GRAPH);
      FATCTX_TRY(write_subgraph(node.GetOperatorType(), inner.sub_graph, *attribute->mutable_g()));
      graphs.insert(inner.attr_name);
    }
    for (const Ort::ConstOpAttr& attribute : node.GetAttributes()) {
      if (graphs.contains(attribute.GetName())) continue;
      FATCTX_TRY(write_attribute(node, attribute, *proto.add_attribute()));
    }
    return Done{};
  }

  GraphWeightFile& weights_;
  std::set<std::string> inputs_;
  std::set<std::string> domains_;
};

DescribedTensor describe_port(const Ort::ConstValueInfo& value) {
  const auto tensor = value.TypeInfo().GetTensorTypeAndShapeInfo();
  DescribedTensor port{.name = value.GetName(), .dtype = std::string(type_word(tensor.GetElementType())), .shape = {}};
  for (const std::int64_t size : tensor.GetShape()) port.shape.push_back(size >= 0 ? size : -1);
  return port;
}

}  // namespace

DescribedGraph describe_graph(const Ort::ConstNode& fused, const std::string& name) {
  DescribedGraph described;
  described.name = name;
  for (const auto& input : fused.GetInputs()) described.inputs.push_back(describe_port(input));
  for (const auto& output : fused.GetOutputs()) described.outputs.push_back(describe_port(output));
  return described;
}

Status write_graph(const Ort::ConstGraph& graph, const Ort::ConstNode& fused, const std::string& name,
                   const std::string& path, const std::string& weights) {
  onnx::ModelProto model;
  model.set_ir_version(graph.GetOnnxIRVersion());
  model.set_producer_name("fatctx");
  onnx::GraphProto& proto = *model.mutable_graph();
  proto.set_name(name);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  GraphWeightFile file(folder, weights);
  std::set<std::string> inputs;
  for (const auto& input : fused.GetInputs()) inputs.insert(input.GetName());
  GraphWriter writer(file, std::move(inputs));
  for (const auto& input : fused.GetInputs()) FATCTX_TRY(GraphWriter::write_port(input, *proto.add_input(), false));
  for (const auto& output : fused.GetOutputs()) FATCTX_TRY(GraphWriter::write_port(output, *proto.add_output(), true));
  FATCTX_TRY(writer.write(graph, proto, true));
  if (const auto open = value_from_nowhere(proto)) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("graph \"{}\", the body of a node, takes \"{}\" from the graph around it, which is an input "
                    "that nothing else takes; ONNX Runtime before 1.27 does not hand such an input to a "
                    "compiled model: compile and run it with a newer one",
                    open->graph, open->name)};
  }
  for (const Ort::OperatorSet& opset : graph.GetOperatorSets()) {
    // Skips unused domains: ONNX Runtime lists every domain it knows, with versions that other builds may not have.
    if (!opset.domain.empty() && !writer.domains().contains(opset.domain)) continue;
    auto* const import = model.add_opset_import();
    import->set_domain(opset.domain);
    import->set_version(opset.version);
  }
  FATCTX_TRY(file.finish());
  FATCTX_TRY(hoist_weights(model, folder, "inner." + weights));
  return write_model(model, path);
}

}  // namespace fatctx::ort
