#include "runtime/ort/ep/cpu_graph.h"

#include <fmt/format.h>
#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/ort/attach/element_types.h"
#include "runtime/ort/ep/run_wishes.h"
#include "runtime/ort/graph/graph_unpack.h"

namespace fatctx::ort {
namespace {

// ONNX Runtime 1.31 and newer borrow initializers from a buffer that represents a file; the headers of 1.23 have no
// name for this entry. Older versions ignore it and copy.
constexpr const char* kBorrowBuffers = "session.use_external_initializer_file_buffers_directly";
constexpr RuntimeVersion kBorrowsSince{.major = 1, .minor = 31};

bool borrows_buffers() {
  const RuntimeVersion version = runtime_version();
  return std::pair(version.major, version.minor) >= std::pair(kBorrowsSince.major, kBorrowsSince.minor);
}

Ort::SessionOptions inner_options(const ProviderOptions& options) {
  Ort::SessionOptions inner;
  // The graph was optimised before it was packed. Optimising again would make private copies of weights.
  inner.SetGraphOptimizationLevel(ORT_DISABLE_ALL);
  inner.SetIntraOpNumThreads(options.intra_op_num_threads);
  inner.AddConfigEntry(kBorrowBuffers, "1");
  if (options.memory == MemoryMode::kLeast) {
    inner.AddConfigEntry(kOrtSessionOptionsConfigDisablePrepacking, "1");
    // An arena keeps the memory of the largest run, for each session. With the arena disabled, each run frees its
    // memory.
    inner.DisableCpuMemArena();
  }
  return inner;
}

Error other_ports(const ChosenGraph& graph, const Ort::ConstNode& node, const std::string& what) {
  return {ErrorCode::kMalformed,
          fmt::format("EPContext node \"{}\" and graph \"{}\" (record \"{}\") do not fit: {}. The "
                      "model and its container are from different compilations",
                      node.GetName(), graph.unit, graph.record, what)};
}

Status check_port(const ChosenGraph& graph, const Ort::ConstNode& node, const Ort::ConstValueInfo& wanted,
                  ONNXTensorElementDataType type, const std::string& which) {
  if (wanted == nullptr) return other_ports(graph, node, which + " is left out in the node");
  const auto info = wanted.TypeInfo();
  if (info.GetONNXType() != ONNX_TYPE_TENSOR) return Done{};  // a node without a type does not contradict
  const auto node_type = info.GetTensorTypeAndShapeInfo().GetElementType();
  if (node_type == type) return Done{};
  return other_ports(graph, node,
                     fmt::format("{} \"{}\" is {} in the node and {} in the graph", which, wanted.GetName(),
                                 type_word(node_type), type_word(type)));
}

std::optional<std::size_t> number_of(const Ort::ConstValueInfo& value, const std::vector<Ort::ConstValueInfo>& values) {
  const std::string name = value.GetName();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != nullptr && values[i].GetName() == name) return i;
  }
  return std::nullopt;
}

void copy_into(const Ort::Value& from, OrtKernelContext* kernel, std::size_t index) {
  const std::vector<std::int64_t> shape = from.GetTensorTypeAndShapeInfo().GetShape();
  auto to = Ort::KernelContext(kernel).GetOutput(index, shape);
  const std::size_t size = from.GetTensorSizeInBytes();
  if (size != 0) std::memcpy(to.GetTensorMutableRawData(), from.GetTensorRawData(), size);
}

}  // namespace

Result<std::unique_ptr<CpuGraph>> CpuGraph::create(const Ort::Env& env, ChosenGraph chosen,
                                                   const ProviderOptions& options, const Ort::ConstNode& node,
                                                   const Ort::ConstNode& fused) {
  std::unique_ptr<CpuGraph> made(new CpuGraph(std::move(chosen)));
  const ChosenGraph& graph = made->graph_;
  // Needed also if ONNX Runtime finds the initializers itself: it would search the disk for one that is not in a weight
  // blob.
  FATCTX_ASSIGN([[maybe_unused]] const std::vector<PlacedTensor> tensors, place_tensors(graph));
  const bool full_speed = options.memory == MemoryMode::kFullSpeed;
  made->has_arena_ = full_speed;
  try {
    Ort::SessionOptions inner = inner_options(options);
    std::vector<DataFile> files = files_of(graph);
    ByteView model = graph.graph.bytes();
    if (full_speed || !borrows_buffers()) {
      FATCTX_ASSIGN(SharedWeights::Share share, SharedWeights::of(graph, full_speed ? &env : nullptr));
      made->made_weights_ = share.made;
      made->shared_weights_ = std::move(share.weights);
      made->shared_weights_->add_to(inner);
      if (const PreparedGraph* const prepared = made->shared_weights_->prepared()) {
        model = prepared->model;
        files.push_back({prepared->location, prepared->bytes});
      }
    }
    // Needed also if each initializer is passed on its own: ONNX Runtime checks that their files exist.
    add_files_in_memory(inner, files);
    made->session_ = full_speed
                         ? Ort::Session(env, model.data(), model.size(), inner, made->shared_weights_->prepacked())
                         : Ort::Session(env, model.data(), model.size(), inner);
  } catch (const Ort::Exception& error) {
    return Error{ErrorCode::kMalformed, fmt::format("record \"{}\" (graph \"{}\"): ONNX Runtime does not take it: {}",
                                                    graph.record, graph.unit, error.what())};
  }
  FATCTX_TRY(made->check_ports(node, fused));
  return made;
}

std::optional<LayoutNote> CpuGraph::layout_note() const {
  if (!shared_weights_) return std::nullopt;
  const Layout& layout = shared_weights_->layout();
  if (!layout.failed.empty()) {
    return LayoutNote{
        .failed = true,
        .text = fmt::format("record \"{}\": the convolutions could not be laid out for this processor, so "
                            "they run in the portable form, which is slower: {}",
                            graph_.record, layout.failed)};
  }
  if (layout.nodes == 0) return std::nullopt;
  return LayoutNote{.failed = false,
                    .text = fmt::format(
                        "record \"{}\": {} nodes run in the layout of this processor, with {} bytes of "
                        "weights in memory, {}",
                        graph_.record, layout.nodes, layout.size_bytes,
                        made_weights_ ? "made by this session for all of the process" : "made by an earlier session")};
}

Status CpuGraph::check_ports(const Ort::ConstNode& node, const Ort::ConstNode& fused) {
  Ort::AllocatorWithDefaultOptions allocator;
  const auto node_inputs = node.GetInputs();
  const auto node_outputs = node.GetOutputs();
  const auto fused_inputs = fused.GetInputs();
  const auto fused_outputs = fused.GetOutputs();
  if (session_.GetInputCount() != node_inputs.size() || session_.GetOutputCount() != node_outputs.size()) {
    return other_ports(graph_, node,
                       fmt::format("{} inputs and {} outputs in the node, {} and {} in the graph", node_inputs.size(),
                                   node_outputs.size(), session_.GetInputCount(), session_.GetOutputCount()));
  }
  for (std::size_t i = 0; i < node_inputs.size(); ++i) {
    const auto info = session_.GetInputTypeInfo(i);
    if (info.GetONNXType() != ONNX_TYPE_TENSOR)
      return other_ports(graph_, node, "an input of the graph is not a tensor");
    FATCTX_TRY(check_port(graph_, node, node_inputs[i], info.GetTensorTypeAndShapeInfo().GetElementType(), "input"));
    Port port{.name = session_.GetInputNameAllocated(i, allocator).get(), .shape = {}};
    port.kernel = number_of(node_inputs[i], fused_inputs);
    if (!port.kernel) return other_ports(graph_, node, fmt::format("input \"{}\" has no value", port.name));
    inputs_.push_back(std::move(port));
  }
  for (std::size_t i = 0; i < node_outputs.size(); ++i) {
    const auto info = session_.GetOutputTypeInfo(i);
    if (info.GetONNXType() != ONNX_TYPE_TENSOR)
      return other_ports(graph_, node, "an output of the graph is not a tensor");
    const auto tensor = info.GetTensorTypeAndShapeInfo();
    Port port{.name = session_.GetOutputNameAllocated(i, allocator).get(), .shape = tensor.GetShape()};
    if (node_outputs[i] != nullptr) {
      FATCTX_TRY(check_port(graph_, node, node_outputs[i], tensor.GetElementType(), "output"));
      port.kernel = number_of(node_outputs[i], fused_outputs);
    }
    // An empty shape means an unknown rank or a scalar.
    port.fixed = !port.shape.empty() && std::ranges::all_of(port.shape, [](auto size) { return size >= 0; });
    outputs_.push_back(std::move(port));
  }
  for (const Port& port : inputs_) input_names_.push_back(port.name.c_str());
  for (const Port& port : outputs_) output_names_.push_back(port.name.c_str());
  return Done{};
}

void CpuGraph::run(OrtKernelContext* kernel, bool frees_memory) const {
  try {
    run_session(kernel, frees_memory);
  } catch (const Ort::Exception& error) {
    throw Ort::Exception(fmt::format("fatctx: record \"{}\": {}", graph_.record, error.what()),
                         error.GetOrtErrorCode());
  }
}

void CpuGraph::run_session(OrtKernelContext* kernel, bool frees_memory) const {
  const OrtApi& api = Ort::GetApi();
  std::vector<const OrtValue*> inputs(inputs_.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Ort::ThrowOnError(api.KernelContext_GetInput(kernel, *inputs_[i].kernel, &inputs[i]));
  }
  // For fixed shapes, the inner session writes directly into the outputs of the outer one; all other outputs are
  // copied.
  std::vector<OrtValue*> outputs(outputs_.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Port& port = outputs_[i];
    if (!port.fixed || !port.kernel) continue;
    Ort::ThrowOnError(
        api.KernelContext_GetOutput(kernel, *port.kernel, port.shape.data(), port.shape.size(), &outputs[i]));
  }
  const std::vector<OrtValue*> given = outputs;
  Ort::RunOptions run(nullptr);
  if (frees_memory && has_arena_) run = run_that_frees_memory();
  OrtStatus* const failed = api.Run(session_, run, input_names_.data(), inputs.data(), inputs.size(),
                                    output_names_.data(), outputs.size(), outputs.data());
  std::vector<Ort::Value> made;
  made.reserve(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) made.emplace_back(outputs[i] == given[i] ? nullptr : outputs[i]);
  Ort::ThrowOnError(failed);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (made[i] != nullptr && outputs_[i].kernel) copy_into(made[i], kernel, *outputs_[i].kernel);
  }
}

}  // namespace fatctx::ort
