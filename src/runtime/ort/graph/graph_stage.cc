#include "runtime/ort/graph/graph_stage.h"

#include <onnx/onnx_pb.h>

#include <set>
#include <utility>

#include "mapping/os_file.h"
#include "runtime/ort/graph/graph_canonical.h"
#include "runtime/ort/graph/graph_file.h"
#include "runtime/ort/graph/graph_gather.h"
#include "runtime/ort/graph/graph_hoist.h"
#include "runtime/ort/graph/graph_unfold.h"
#include "runtime/ort/graph/graph_walk.h"
#include "runtime/ort/graph/graph_write.h"
#include "runtime/ort/graph/optimise.h"

namespace fatctx::ort {
namespace {

// A graph whose constants grew by more than this was folded in a way that cannot be taken back one by one.
constexpr std::uint64_t kSpareBytes = 64 << 10;
constexpr double kLarger = 1.05;

bool is_larger(std::uint64_t after, std::uint64_t before) {
  return static_cast<double>(after) > kLarger * static_cast<double>(before) + static_cast<double>(kSpareBytes);
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// Returns true if the graph lacks a node of the model.
bool lacks_nodes(const onnx::ModelProto& graph, const onnx::ModelProto& model) {
  std::set<std::string> made;
  for (const auto& node : graph.graph().node()) made.insert(node.output().begin(), node.output().end());
  for (const auto& node : model.graph().node()) {
    if (node.op_type() == "Constant" || node.output_size() == 0) continue;
    if (!made.contains(node.output(0))) return true;
  }
  return false;
}

// Removes initializers that a graph has twice. ONNX Runtime before 1.31 writes those of inner graphs so.
void drop_repeated(onnx::ModelProto& model) {
  for (onnx::GraphProto* const graph : graphs_of(*model.mutable_graph())) {
    std::set<std::string> names;
    google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
    for (onnx::TensorProto& tensor : *graph->mutable_initializer()) {
      if (names.insert(tensor.name()).second) *kept.Add() = std::move(tensor);
    }
    graph->mutable_initializer()->Swap(&kept);
  }
}

// One run of the optimisers.
Status optimise(const mapping::WorkFolder& folder, const onnx::ModelProto& written, const std::string& name,
                const OptimiseOptions& how, bool unfold, const Ort::Env& env, onnx::ModelProto& optimised) {
  const std::string in_folder = folder.path_of("");
  const OptimisedFiles out = {.model = folder.path_of(name + ".onnx"), .weights = name + ".weights"};
  FATCTX_TRY(optimise_graph(env, folder.path_of("graph.onnx"), how, out));
  FATCTX_TRY(read_model(out.model, optimised));
  drop_repeated(optimised);
  FATCTX_TRY(hoist_weights(optimised, in_folder, name + ".inner.weights"));
  if (!unfold) return Done{};
  onnx::ModelProto origin = written;
  return unfold_larger_constants({optimised, in_folder}, {origin, in_folder}, name + ".unfolded.weights", env);
}

}  // namespace

Result<StagedResult> stage_graph(const mapping::WorkFolder& folder, const GraphToStage& graph,
                                 const StageOptions& options, const Ort::Env& env) {
  const std::string in_folder = folder.path_of("");
  const std::string path = folder.path_of("graph.onnx");
  const bool unfold = !options.grow_constants;
  FATCTX_TRY(write_graph(graph.graph, graph.fused, graph.unit, path, "graph.weights"));
  onnx::ModelProto model;
  FATCTX_TRY(read_model(path, model));
  StagedResult result = {.graph = {}, .source_bytes = constant_bytes(model)};
  // An ordinary session has folded constants before it asks a provider. The file has the model as it was.
  onnx::ModelProto source;
  if (!graph.source.empty() && read_model(graph.source, source).ok()) {
    result.optimised_by_session = lacks_nodes(model, source);
    if (unfold && result.optimised_by_session) {
      FATCTX_TRY(unfold_larger_constants({model, in_folder}, {source, folder_of(graph.source)}, "source.weights", env));
      FATCTX_TRY(write_model(model, path));
    }
    source.Clear();
  }
  if (options.optimisation != Optimisation::kNone) {
    const std::uint64_t before = constant_bytes(model);
    onnx::ModelProto optimised;
    FATCTX_TRY(optimise(folder, model, "optimised", {options.optimisation, true}, unfold, env, optimised));
    if (unfold && is_larger(constant_bytes(optimised), before)) {
      onnx::ModelProto smaller;
      FATCTX_TRY(optimise(folder, model, "smaller", {options.optimisation, false}, unfold, env, smaller));
      if (constant_bytes(smaller) < constant_bytes(optimised)) optimised = std::move(smaller);
    }
    model = std::move(optimised);
  }
  if (unfold && options.optimisation != Optimisation::kNone) gather_before_unpacking(model);
  FATCTX_TRY(make_names_canonical(model, in_folder));
  FATCTX_ASSIGN(result.graph, StagedGraph::of(std::move(model), in_folder));
  return result;
}

std::uint64_t bytes_of_model(const std::string& path) {
  onnx::ModelProto model;
  const auto found = mapping::stat_path(path);
  if (!found.ok() || !read_model(path, model).ok()) return 0;
  std::uint64_t sum = found.value().size;
  for (onnx::GraphProto* const graph : graphs_of(*model.mutable_graph())) {
    for (const auto& tensor : graph->initializer()) sum += is_outside(tensor) ? size_of(tensor) : 0;
  }
  return sum;
}

}  // namespace fatctx::ort
