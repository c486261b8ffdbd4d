#include "runtime/ort/graph/graph_tensors.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <utility>

#include "runtime/ort/graph/graph_file.h"
#include "runtime/ort/graph/graph_walk.h"

namespace fatctx::ort {
namespace {

Error broken(std::string_view record, const std::string& what) {
  return {ErrorCode::kMalformed, fmt::format("record \"{}\": {}", record, what)};
}

Result<std::uint64_t> number(const std::string& text, std::string_view record, const std::string& tensor) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) return value;
  return broken(record,
                fmt::format("initializer \"{}\" has the offset or length \"{}\", which is not a number", tensor, text));
}

Result<ExternalTensor> read_tensor(const onnx::TensorProto& proto, std::string_view record) {
  ExternalTensor tensor;
  tensor.name = proto.name();
  // Both enumerations use the same numbers.
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
    return broken(record, fmt::format("initializer \"{}\" does not say where it is stored", tensor.name));
  }
  return tensor;
}

// Sorts lists that ONNX Runtime writes in the order of a hash table, which differs between processes.
void put_in_order(onnx::GraphProto& graph) {
  const auto by_name = [](const auto& a, const auto& b) { return a.name() < b.name(); };
  std::sort(graph.mutable_initializer()->begin(), graph.mutable_initializer()->end(), by_name);
  std::sort(graph.mutable_value_info()->begin(), graph.mutable_value_info()->end(), by_name);
}

// Returns true if only initializers of the main graph are stored outside of the model.
bool all_inside(const onnx::GraphProto& graph, bool main) {
  const auto inside = [](const auto& list) { return std::none_of(list.begin(), list.end(), is_outside); };
  if (!main && !inside(graph.initializer())) return false;
  for (const auto& sparse : graph.sparse_initializer()) {
    if (is_outside(sparse.values()) || is_outside(sparse.indices())) return false;
  }
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (is_outside(attribute.t()) || !inside(attribute.tensors())) return false;
      if (attribute.has_g() && !all_inside(attribute.g(), false)) return false;
      for (const auto& inner : attribute.graphs()) {
        if (!all_inside(inner, false)) return false;
      }
    }
  }
  return true;
}

// Moves external data into the model. For tensors of inner graphs, ONNX Runtime searches files on disk even if it was
// given their bytes in memory.
Status take_in(onnx::TensorProto& proto, const std::string& folder) {
  FATCTX_ASSIGN(const ExternalTensor tensor, read_tensor(proto, folder));
  const std::string path = folder + tensor.location;
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(tensor.offset));
  std::string bytes(tensor.size_bytes, '\0');
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    return Error{ErrorCode::kTruncated,
                 fmt::format("{}: initializer \"{}\" cannot be read from it", path, tensor.name)};
  }
  proto.clear_external_data();
  proto.clear_data_location();
  proto.set_raw_data(std::move(bytes));
  return Done{};
}

}  // namespace

Status check_model_size(std::size_t bytes) {
  if (bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max())) return Done{};
  return Error{
      ErrorCode::kLimitExceeded,
      fmt::format("the graph has {} bytes beside its weights, in nodes and their attributes, and an ONNX model "
                  "holds 2 GiB: let the nodes take large tensors as inputs instead of attributes",
                  bytes)};
}

struct StagedGraph::Impl {
  onnx::ModelProto model;
  std::vector<onnx::TensorProto*> outside;  // in the model, one for each of the tensors
};

StagedGraph::StagedGraph(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
StagedGraph::StagedGraph() noexcept = default;
StagedGraph::~StagedGraph() = default;
StagedGraph::StagedGraph(StagedGraph&&) noexcept = default;
StagedGraph& StagedGraph::operator=(StagedGraph&&) noexcept = default;

Result<std::vector<ExternalTensor>> external_tensors(ByteView bytes, std::string_view record) {
  onnx::ModelProto model;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return broken(record, "its bytes are not an ONNX model");
  }
  // ONNX Runtime would search the disk for these, even if it was given their bytes in memory.
  if (!all_inside(model.graph(), true)) {
    return broken(record, "a tensor of a graph inside of the graph, or of an attribute, is outside of the model");
  }
  std::vector<ExternalTensor> tensors;
  for (const auto& proto : model.graph().initializer()) {
    if (!is_outside(proto)) continue;
    FATCTX_ASSIGN(ExternalTensor tensor, read_tensor(proto, record));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<StagedGraph> StagedGraph::read(const std::string& path) {
  onnx::ModelProto model;
  FATCTX_TRY(read_model(path, model));
  return of(std::move(model), path.substr(0, path.rfind('/') + 1));
}

Result<StagedGraph> StagedGraph::of(onnx::ModelProto made, const std::string& folder) {
  auto impl = std::make_unique<Impl>();
  impl->model = std::move(made);
  StagedGraph graph(std::move(impl));
  onnx::ModelProto& model = graph.impl_->model;
  std::sort(model.mutable_opset_import()->begin(), model.mutable_opset_import()->end(),
            [](const auto& a, const auto& b) { return a.domain() < b.domain(); });
  for (onnx::GraphProto* const any : graphs_of(*model.mutable_graph())) {
    put_in_order(*any);
    for (auto& proto : *any->mutable_initializer()) {
      if (!is_outside(proto)) continue;
      if (any == model.mutable_graph()) {
        graph.impl_->outside.push_back(&proto);
      } else {
        FATCTX_TRY(take_in(proto, folder));
      }
    }
  }
  for (const onnx::TensorProto* const proto : graph.impl_->outside) {
    FATCTX_ASSIGN(ExternalTensor tensor, read_tensor(*proto, folder));
    graph.tensors_.push_back(std::move(tensor));
  }
  return graph;
}

void StagedGraph::point(std::size_t index, const std::string& location, std::uint64_t offset) {
  for (auto& entry : *impl_->outside[index]->mutable_external_data()) {
    if (entry.key() == "location") entry.set_value(location);
    if (entry.key() == "offset") entry.set_value(std::to_string(offset));
  }
}

std::uint64_t StagedGraph::size_bytes() const { return impl_->model.ByteSizeLong(); }

Result<std::vector<std::byte>> StagedGraph::bytes() const {
  const std::size_t size = impl_->model.ByteSizeLong();
  FATCTX_TRY(check_model_size(size));
  std::vector<std::byte> bytes(size);
  if (!impl_->model.SerializeToArray(bytes.data(), static_cast<int>(size))) {
    return Error{ErrorCode::kInternal, "the graph could not be written"};
  }
  return bytes;
}

}  // namespace fatctx::ort
