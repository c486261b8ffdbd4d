#include "runtime/ort/ep/shared_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/immortal.h"
#include "runtime/open/live_table.h"
#include "runtime/ort/attach/element_types.h"
#include "runtime/ort/graph/graph_arrange.h"
#include "runtime/ort/graph/graph_tensors.h"
#include "runtime/ort/graph/graph_unpack.h"

namespace fatctx::ort {
namespace {

using Table = LiveTable<std::pair<GraphKey, bool>, SharedWeights>;  // true: prepared
constinit Immortal<Table> g_table;

Result<ByteView> bytes_of(const ExternalTensor& tensor, const std::vector<DataFile>& files, const ChosenGraph& graph) {
  const auto file = std::ranges::find(files, tensor.location, &DataFile::location);
  const auto complain = [&](std::string_view what) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("record \"{}\": initializer \"{}\" {}", graph.record, tensor.name, what)};
  };
  if (file == files.end()) {
    return complain(
        fmt::format("is stored in \"{}\", which is none of the weight blobs of the record", tensor.location));
  }
  if (!within({tensor.offset, tensor.size_bytes}, file->bytes.size())) {
    return complain(fmt::format("leaves the weight blob \"{}\"", file->location));
  }
  std::vector<std::uint64_t> shape;
  for (const std::int64_t size : tensor.shape) {
    if (size < 0) return complain("has a negative dimension");
    shape.push_back(static_cast<std::uint64_t>(size));
  }
  if (const auto dtype = dtype_of(tensor.type)) {
    const auto size = tensor_size_bytes(*dtype, shape);
    if (!size || *size != tensor.size_bytes) return complain("has another size than its type and shape");
  }
  return file->bytes.subspan(tensor.offset, tensor.size_bytes);
}

Ort::Value value_over(const ExternalTensor& tensor, ByteView bytes) {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  // ONNX Runtime has no read-only values. Initializers are never written to.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  auto* const data = const_cast<std::byte*>(bytes.data());
  return Ort::Value::CreateTensor(memory, data, bytes.size(), tensor.shape.data(), tensor.shape.size(), tensor.type);
}

Result<std::vector<PlacedTensor>> place(ByteView model, const std::vector<DataFile>& files, const ChosenGraph& graph) {
  FATCTX_ASSIGN(std::vector<ExternalTensor> tensors, external_tensors(model, graph.record));
  std::vector<PlacedTensor> placed;
  placed.reserve(tensors.size());
  for (ExternalTensor& tensor : tensors) {
    FATCTX_ASSIGN(const ByteView bytes, bytes_of(tensor, files, graph));
    placed.push_back({std::move(tensor), bytes});
  }
  return placed;
}

}  // namespace

std::vector<DataFile> files_of(const ChosenGraph& graph) {
  std::vector<DataFile> files;
  for (const WeightFile& weights : graph.weights) files.push_back({weights.location, weights.bytes.bytes()});
  return files;
}

Result<std::vector<PlacedTensor>> place_tensors(const ChosenGraph& graph) {
  return place(graph.graph.bytes(), files_of(graph), graph);
}

void SharedWeights::prepare(const ChosenGraph& graph, const Ort::Env& env) {
  std::vector<DataFile> files = files_of(graph);
  ByteView model = graph.graph.bytes();
  std::string_view unpacked;
  prepared_ = unpack_constants(model, files, env);
  if (prepared_) {
    model = prepared_->model;
    unpacked = prepared_->location;
    files.push_back({prepared_->location, prepared_->bytes});
  }
  auto arranged = arrange_graph(model, files, unpacked, env);
  if (!arranged.ok()) {
    layout_.failed = arranged.error().message;
  } else if (arranged.value()) {
    layout_.nodes = arranged.value()->nodes;
    layout_.size_bytes = arranged.value()->graph.bytes.size();
    prepared_ = std::move(arranged.value()->graph);
  }
}

Result<SharedWeights::Share> SharedWeights::of(const ChosenGraph& graph, const Ort::Env* prepare) {
  Table::Claim claim(g_table.get(), {graph.key, prepare != nullptr});
  if (claim.live()) return Share{.weights = claim.live(), .made = false};
  auto made = std::make_shared<SharedWeights>();
  for (const WeightFile& weights : graph.weights) made->keep_alive_.push_back(weights.bytes);
  if (prepare != nullptr) made->prepare(graph, *prepare);
  std::vector<DataFile> files = files_of(graph);
  ByteView model = graph.graph.bytes();
  if (const PreparedGraph* const prepared = made->prepared()) {
    model = prepared->model;
    files.push_back({prepared->location, prepared->bytes});
  }
  FATCTX_ASSIGN(const std::vector<PlacedTensor> tensors, place(model, files, graph));
  for (const PlacedTensor& placed : tensors) {
    made->initializers_.push_back({placed.tensor.name, value_over(placed.tensor, placed.bytes)});
  }
  std::shared_ptr<const SharedWeights> shared = std::move(made);
  claim.finish(shared);
  return Share{.weights = std::move(shared), .made = true};
}

void SharedWeights::add_to(Ort::SessionOptions& options) const {
  for (const Initializer& initializer : initializers_)
    options.AddInitializer(initializer.name.c_str(), initializer.value);
}

}  // namespace fatctx::ort
