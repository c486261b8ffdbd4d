#include "runtime/ort/graph_tensors.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <charconv>
#include <fstream>
#include <limits>
#include <utility>

#include "runtime/ort/element_types.h"

namespace fatctx::ort {
namespace {

Error broken(std::string_view record, const std::string& what) {
  return {ErrorCode::kMalformed, fmt::format("record \"{}\": {}", record, what)};
}

Result<std::uint64_t> number(const std::string& text, std::string_view record, const std::string& tensor) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) return value;
  return broken(record, fmt::format("initializer \"{}\" lies at \"{}\", which is no number", tensor, text));
}

Result<ExternalTensor> read_tensor(const onnx::TensorProto& proto, std::string_view record) {
  ExternalTensor tensor;
  tensor.name = proto.name();
  // The numbers of the two are the same.
  tensor.type = static_cast<ONNXTensorElementDataType>(proto.data_type());
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  bool has_size = false;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      tensor.location = entry.value();
    } else if (entry.key() == "offset") {
      FATCTX_ASSIGN(tensor.offset, number(entry.value(), record, tensor.name));
    } else if (entry.key() == "length") {
      FATCTX_ASSIGN(tensor.size_bytes, number(entry.value(), record, tensor.name));
      has_size = true;
    }
  }
  if (tensor.location.empty() || !has_size) {
    return broken(record, fmt::format("initializer \"{}\" does not say where it lies", tensor.name));
  }
  return tensor;
}

bool is_outside(const onnx::TensorProto& proto) { return proto.data_location() == onnx::TensorProto::EXTERNAL; }

Result<std::vector<ExternalTensor>> tensors_of(const onnx::GraphProto& graph, std::string_view record) {
  std::vector<ExternalTensor> tensors;
  for (const auto& proto : graph.initializer()) {
    if (!is_outside(proto)) continue;
    FATCTX_ASSIGN(ExternalTensor tensor, read_tensor(proto, record));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

DescribedTensor describe_port(const onnx::ValueInfoProto& proto) {
  const auto& tensor = proto.type().tensor_type();
  DescribedTensor port{.name = proto.name(),
                       .dtype = std::string(type_word(static_cast<ONNXTensorElementDataType>(tensor.elem_type()))),
                       .shape = {}};
  for (const auto& dimension : tensor.shape().dim()) {
    port.shape.push_back(dimension.has_dim_value() ? dimension.dim_value() : -1);
  }
  return port;
}

}  // namespace

struct StagedGraph::Impl {
  onnx::ModelProto model;
  std::vector<int> outside;  // index of the initializer for each of the tensors
};

StagedGraph::StagedGraph(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
StagedGraph::~StagedGraph() = default;
StagedGraph::StagedGraph(StagedGraph&&) noexcept = default;
StagedGraph& StagedGraph::operator=(StagedGraph&&) noexcept = default;

Result<std::vector<ExternalTensor>> external_tensors(ByteView bytes, std::string_view record) {
  onnx::ModelProto model;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return broken(record, "its bytes are not an ONNX model");
  }
  return tensors_of(model.graph(), record);
}

Result<StagedGraph> StagedGraph::read(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, fmt::format("{}: cannot be read", path)};
  if (!impl->model.ParseFromIstream(&file)) return Error{ErrorCode::kMalformed, fmt::format("{}: not an ONNX model", path)};
  StagedGraph graph(std::move(impl));
  FATCTX_ASSIGN(graph.tensors_, tensors_of(graph.impl_->model.graph(), path));
  const auto& initializers = graph.impl_->model.graph().initializer();
  for (int i = 0; i < initializers.size(); ++i) {
    if (is_outside(initializers[i])) graph.impl_->outside.push_back(i);
  }
  return graph;
}

void StagedGraph::point(std::size_t index, const std::string& location, std::uint64_t offset) {
  auto* const proto = impl_->model.mutable_graph()->mutable_initializer(impl_->outside[index]);
  for (auto& entry : *proto->mutable_external_data()) {
    if (entry.key() == "location") entry.set_value(location);
    if (entry.key() == "offset") entry.set_value(std::to_string(offset));
  }
}

DescribedGraph StagedGraph::describe() const {
  const onnx::GraphProto& graph = impl_->model.graph();
  DescribedGraph described;
  described.name = graph.name();
  for (const auto& input : graph.input()) described.inputs.push_back(describe_port(input));
  for (const auto& output : graph.output()) described.outputs.push_back(describe_port(output));
  return described;
}

Result<std::vector<std::byte>> StagedGraph::bytes() const {
  const std::size_t size = impl_->model.ByteSizeLong();
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Error{ErrorCode::kLimitExceeded, fmt::format("the graph has {} bytes without its weights; ONNX holds 2 GiB", size)};
  }
  std::vector<std::byte> bytes(size);
  if (!impl_->model.SerializeToArray(bytes.data(), static_cast<int>(size))) {
    return Error{ErrorCode::kInternal, "the graph could not be written"};
  }
  return bytes;
}

}  // namespace fatctx::ort
