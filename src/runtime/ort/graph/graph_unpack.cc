#include "runtime/ort/graph/graph_unpack.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "runtime/ort/graph/graph_walk.h"
#include "runtime/ort/graph/graph_write.h"

namespace fatctx::ort {
namespace {

constexpr const char* kLocation = "fatctx.unpacked";

// Operators that unpack weights. They are cheap beside the memory that they take.
bool unpacks(const onnx::NodeProto& node) {
  static constexpr std::string_view kOperators[] = {"Add",     "Cast", "DequantizeLinear", "Div",      "Mul", "Reshape",
                                                    "Squeeze", "Sub",  "Transpose",        "Unsqueeze"};
  return node.domain().empty() && std::ranges::find(kOperators, node.op_type()) != std::end(kOperators);
}

// The nodes of a main graph that read constants only.
class ConstantNodes {
 public:
  explicit ConstantNodes(onnx::GraphProto& graph) : graph_(graph) {
    std::set<std::string> known = {""};
    for (const auto& tensor : graph.initializer()) known.insert(tensor.name());
    for (const auto& input : graph.input()) known.erase(input.name());
    for (const auto& node : graph.node()) {
      const auto& inputs = node.input();
      const bool constant = unpacks(node) && std::all_of(inputs.begin(), inputs.end(),
                                                         [&](const auto& name) { return known.contains(name); });
      if (!constant) continue;
      nodes_.insert(node.output(0));
      known.insert(node.output(0));
    }
    find_results();
  }

  [[nodiscard]] bool contains(const onnx::NodeProto& node) const {
    return node.output_size() == 1 && nodes_.contains(node.output(0));
  }
  // Returns the values that other nodes read.
  [[nodiscard]] const std::set<std::string>& results() const noexcept { return results_; }

 private:
  void find_results() {
    std::set<std::string> read;
    for (onnx::GraphProto* const graph : graphs_of(graph_)) {
      for (const auto& node : graph->node()) {
        if (graph == &graph_ && contains(node)) continue;
        read.insert(node.input().begin(), node.input().end());
      }
      for (const auto& output : graph->output()) read.insert(output.name());
    }
    for (const std::string& name : nodes_) {
      if (read.contains(name)) results_.insert(name);
    }
  }

  onnx::GraphProto& graph_;
  std::set<std::string> nodes_;  // by their outputs
  std::set<std::string> results_;
};

onnx::ModelProto model_of(const onnx::ModelProto& whole, const ConstantNodes& constants) {
  onnx::ModelProto model;
  model.set_ir_version(whole.ir_version());
  *model.mutable_opset_import() = whole.opset_import();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("unpack");
  std::set<std::string> read;
  for (const auto& node : whole.graph().node()) {
    if (!constants.contains(node)) continue;
    read.insert(node.input().begin(), node.input().end());
    *graph.add_node() = node;
  }
  for (const auto& tensor : whole.graph().initializer()) {
    if (read.contains(tensor.name())) *graph.add_initializer() = tensor;
  }
  for (const std::string& name : constants.results()) graph.add_output()->set_name(name);
  return model;
}

std::vector<Ort::Value> run(const onnx::ModelProto& model, const std::set<std::string>& results,
                            std::span<const DataFile> files, const Ort::Env& env) {
  const std::string bytes = model.SerializeAsString();
  std::vector<const char*> names;
  names.reserve(results.size());
  for (const std::string& name : results) names.push_back(name.c_str());
  try {
    Ort::SessionOptions options;
    options.SetGraphOptimizationLevel(ORT_DISABLE_ALL);
    options.DisableCpuMemArena();
    add_files_in_memory(options, files);
    Ort::Session session(env, bytes.data(), bytes.size(), options);
    return session.Run(Ort::RunOptions(nullptr), nullptr, nullptr, 0, names.data(), names.size());
  } catch (const Ort::Exception&) {
    return {};
  }
}

// Takes the nodes out, and the initializers that nothing else reads.
void take_out(onnx::GraphProto& graph, const ConstantNodes& constants) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (auto& node : *graph.mutable_node()) {
    if (!constants.contains(node)) *nodes.Add() = std::move(node);
  }
  graph.mutable_node()->Swap(&nodes);
  std::set<std::string> read;
  for (onnx::GraphProto* const any : graphs_of(graph)) {
    for (const auto& node : any->node()) read.insert(node.input().begin(), node.input().end());
    for (const auto& output : any->output()) read.insert(output.name());
  }
  google::protobuf::RepeatedPtrField<onnx::TensorProto> tensors;
  for (auto& tensor : *graph.mutable_initializer()) {
    if (read.contains(tensor.name())) *tensors.Add() = std::move(tensor);
  }
  graph.mutable_initializer()->Swap(&tensors);
}

// Adds the results as initializers with external data.
void put_in(onnx::GraphProto& graph, const std::set<std::string>& results, const std::vector<Ort::Value>& values,
            AlignedBytes& file) {
  std::size_t number = 0;
  for (const std::string& name : results) {
    const Ort::Value& value = values[number++];
    const auto info = value.GetTensorTypeAndShapeInfo();
    const std::size_t offset = next_weight_offset(file.size());
    const std::size_t size = value.GetTensorSizeInBytes();
    file.resize(offset + size);
    if (size != 0) std::memcpy(file.data() + offset, value.GetTensorRawData(), size);
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(static_cast<int>(info.GetElementType()));
    for (const std::int64_t dim : info.GetShape()) tensor.add_dims(dim);
    set_outside(tensor, kLocation, offset, size);
  }
}

}  // namespace

void add_files_in_memory(Ort::SessionOptions& options, std::span<const DataFile> files) {
  std::vector<std::basic_string<ORTCHAR_T>> names;
  std::vector<char*> buffers;
  std::vector<std::size_t> sizes;
  for (const DataFile& file : files) {
    if (file.bytes.empty()) continue;
    names.push_back(file.location);
    // The parameter of the interface is not const, but ONNX Runtime only reads.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast,cppcoreguidelines-pro-type-reinterpret-cast)
    buffers.push_back(const_cast<char*>(reinterpret_cast<const char*>(file.bytes.data())));
    sizes.push_back(file.bytes.size());
  }
  if (!names.empty()) options.AddExternalInitializersFromFilesInMemory(names, buffers, sizes);
}

std::optional<PreparedGraph> unpack_constants(ByteView bytes, std::span<const DataFile> files, const Ort::Env& env) {
  onnx::ModelProto model;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return std::nullopt;
  }
  const ConstantNodes constants(*model.mutable_graph());
  if (constants.results().empty()) return std::nullopt;
  const std::vector<Ort::Value> values = run(model_of(model, constants), constants.results(), files, env);
  if (values.size() != constants.results().size()) return std::nullopt;
  PreparedGraph unpacked;
  unpacked.location = kLocation;
  take_out(*model.mutable_graph(), constants);
  put_in(*model.mutable_graph(), constants.results(), values, unpacked.bytes);
  unpacked.model.resize(model.ByteSizeLong());
  if (!model.SerializeToArray(unpacked.model.data(), static_cast<int>(unpacked.model.size()))) return std::nullopt;
  return unpacked;
}

}  // namespace fatctx::ort
