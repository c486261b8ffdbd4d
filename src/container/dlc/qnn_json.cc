#include "fatctx/import_qnn_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "container/dlc/metadata.h"
#include "container/dlc/qnn_graph.h"

namespace fatctx {
namespace {

namespace dlc = container::dlc;

// The kinds of tensors that a converter lists.
constexpr std::uint64_t kInput = 0;
constexpr std::uint64_t kOutput = 1;

Result<Json> read_text(std::string_view text, const std::string& file) {
  JsonFault fault;
  auto json = read_json(text, dlc::kMaxMetadataDepth, fault);
  if (json) return *std::move(json);
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: {}", file, why)};
  };
  switch (fault.kind) {
    case JsonFault::Kind::kTooDeep:
      return refuse(fmt::format("lists and objects more than {} deep", std::uint64_t{dlc::kMaxMetadataDepth}));
    case JsonFault::Kind::kKeyTwice:
      return refuse(fmt::format("{}: the key appears twice in one object", fault.pointer));
    case JsonFault::Kind::kNotJson:
      break;
  }
  return refuse(fmt::format("not JSON; it becomes invalid at its byte {}", fault.position));
}

// Adds notes on tensors in fixed point that have no scale for the whole tensor.
std::vector<DescribedTensor> taken(std::vector<dlc::QnnTensor> tensors, const std::string& graph,
                                   std::vector<std::string>& notes) {
  std::vector<DescribedTensor> described;
  described.reserve(tensors.size());
  for (dlc::QnnTensor& tensor : tensors) {
    if (tensor.fixed_point && tensor.described.scales.size() != 1) {
      const std::string of_graph = graph.empty() ? std::string() : fmt::format("graph \"{}\": ", graph);
      notes.push_back(
          fmt::format("{}tensor \"{}\" is {} in fixed point without a scale for the whole tensor; it stays as it is",
                      of_graph, tensor.described.name, tensor.described.dtype));
    }
    described.push_back(std::move(tensor.described));
  }
  return described;
}

// Returns the backend's value for a graph; 0 if there is none, as for backends without such a buffer.
Result<std::uint64_t> spill_fill_at(const JsonPlace& graph) {
  if (!graph.has("graphBlobInfo")) return std::uint64_t{0};
  const JsonPlace said = dlc::inner_place(graph.at("graphBlobInfo"));
  if (!said.has("spillFillBufferSize")) return std::uint64_t{0};
  return said.at("spillFillBufferSize").number(static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

Status read_graphs(const JsonPlace& info, QnnGraphs& result) {
  if (info.has("buildId")) {
    FATCTX_ASSIGN(result.build_id, info.at("buildId").text());
  }
  FATCTX_ASSIGN(const auto list, info.at("graphs").elements());
  if (list.empty()) return info.at("graphs").error("is empty; there is no graph to wrap");
  for (const JsonPlace& element : list) {
    const JsonPlace said = dlc::inner_place(element);
    if (!said.is_object()) return said.wrong("an object that describes a graph");
    DescribedGraph graph;
    FATCTX_ASSIGN(const JsonPlace name, said.required("graphName"));
    FATCTX_ASSIGN(graph.name, name.text());
    FATCTX_ASSIGN(const JsonPlace inputs, said.required("graphInputs"));
    FATCTX_ASSIGN(const JsonPlace outputs, said.required("graphOutputs"));
    FATCTX_ASSIGN(auto taken_in, dlc::read_qnn_tensors(inputs));
    FATCTX_ASSIGN(auto given_out, dlc::read_qnn_tensors(outputs));
    graph.inputs = taken(std::move(taken_in), graph.name, result.notes);
    graph.outputs = taken(std::move(given_out), graph.name, result.notes);
    FATCTX_ASSIGN(graph.spill_fill_bytes, spill_fill_at(said));
    graph.options = dlc::qnn_graph_facts(said);
    result.graphs.push_back(std::move(graph));
  }
  return Done{};
}

// Reads the tensors in the order of their ids; without ids in the order of their names.
Status read_tensors(const JsonPlace& tensors, QnnGraphs& result) {
  struct Numbered {
    std::uint64_t id = 0;
    dlc::QnnTensor tensor;
  };
  std::vector<Numbered> inputs;
  std::vector<Numbered> outputs;
  if (!tensors.is_object()) return tensors.wrong("an object");
  for (const auto& [name, value] : *tensors.value().members()) {
    const JsonPlace place = tensors.member(name, value);
    if (!place.is_object()) return place.wrong("an object that describes a tensor");
    FATCTX_ASSIGN(const JsonPlace kind_place, place.required("type"));
    FATCTX_ASSIGN(const std::uint64_t kind, kind_place.number(std::numeric_limits<std::uint32_t>::max()));
    if (kind != kInput && kind != kOutput) continue;
    Numbered made;
    FATCTX_ASSIGN(made.tensor, dlc::read_qnn_tensor(place, dlc::kConverterWords, name));
    if (place.has("id")) {
      FATCTX_ASSIGN(made.id, place.at("id").number(std::numeric_limits<std::uint32_t>::max()));
    }
    (kind == kInput ? inputs : outputs).push_back(std::move(made));
  }
  if (inputs.empty() || outputs.empty()) return tensors.error("lists no input (type 0) or no output (type 1)");
  const auto in_order = [&](std::vector<Numbered>& list) {
    std::sort(list.begin(), list.end(), [](const Numbered& a, const Numbered& b) {
      return std::tie(a.id, a.tensor.described.name) < std::tie(b.id, b.tensor.described.name);
    });
    std::vector<dlc::QnnTensor> ordered;
    ordered.reserve(list.size());
    for (Numbered& one : list) ordered.push_back(std::move(one.tensor));
    return taken(std::move(ordered), {}, result.notes);
  };
  DescribedGraph graph;
  graph.inputs = in_order(inputs);
  graph.outputs = in_order(outputs);
  result.graphs.push_back(std::move(graph));
  return Done{};
}

}  // namespace

Result<QnnGraphs> graphs_from_qnn_json(std::string_view text, const std::string& file) {
  FATCTX_ASSIGN(const Json json, read_text(text, file));
  const JsonPlace root(file, json);
  const auto object_at = [&](std::string_view key, std::string_view inside) {
    return root.has(key) && root.at(key).has(inside);
  };
  QnnGraphs result;
  if (object_at("info", "graphs")) {
    FATCTX_TRY(read_graphs(root.at("info"), result));
  } else if (object_at("graph", "tensors")) {
    FATCTX_TRY(read_tensors(root.at("graph").at("tensors"), result));
  } else {
    return root.error(
        "neither info.graphs, as qnn-context-binary-utility writes it, nor graph.tensors, as the converters do");
  }
  return result;
}

}  // namespace fatctx
