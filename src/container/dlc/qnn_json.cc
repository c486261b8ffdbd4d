#include "fatctx/import_qnn_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "container/dlc/metadata.h"
#include "container/dlc/qnn_graph.h"
#include "container/dlc/said_facts.h"

namespace fatctx {
namespace {

namespace dlc = container::dlc;

// The kinds of tensors that a converter lists.
constexpr std::uint64_t kInput = 0;
constexpr std::uint64_t kOutput = 1;
constexpr std::uint64_t kStatic = 4;  // a weight

constexpr std::string_view kOwnPackage = "qti.aisw";  // the package of the vendor's own operators
constexpr std::size_t kLongestValue = 120;            // bytes of a parameter that are shown

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

// Returns everything that is said outside the graphs.
std::vector<DescribedOption> facts_of(const Json& document) {
  dlc::SaidFacts said;
  if (document.members() == nullptr) return {};
  for (const auto& [key, value] : *document.members()) {
    if (key == "graph") continue;
    if (key != "info" || value.members() == nullptr) {
      said.add_member(key, value);
      continue;
    }
    for (const auto& [inner, fact] : *value.members()) {
      if (inner != "graphs" && inner != "contextTensors" && inner != "buildId") said.add_member(inner, fact);
    }
  }
  return said.take();
}

// Returns the value without the names of its type and of its tensor: {"306": 1} is 1, and of a tensor the data.
std::string parameter_words(const Json& value) {
  const Json* inner = &value;
  if (value.members() != nullptr && value.members()->size() == 1) inner = &value.members()->front().value;
  if (const Json* const data = inner->find("data")) inner = data;
  std::string words = inner->text() != nullptr ? *inner->text() : json_line(*inner);
  if (words.size() <= kLongestValue) return words;
  return fmt::format("{}... {} bytes", words.substr(0, whole_characters(words, kLongestValue)), words.size());
}

Result<std::vector<std::string>> names_at(const JsonPlace& node, std::string_view key) {
  std::vector<std::string> names;
  if (!node.has(key)) return names;
  FATCTX_ASSIGN(const auto elements, node.at(key).elements());
  for (const JsonPlace& element : elements) {
    if (element.value().text() == nullptr) return element.wrong("a string");
    names.push_back(*element.value().text());
  }
  return names;
}

// Returns the multiply-adds, which converters write as a number or as a text with digits; nothing for other texts.
std::optional<std::uint64_t> macs_at(const JsonPlace& node) {
  const Json* const said = node.value().find("macs_per_inference");
  if (said == nullptr) return std::nullopt;
  if (said->number() != nullptr) return *said->number();
  const std::string* const text = said->text();
  if (text == nullptr || text->size() > 18) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

Result<QnnNode> read_node(const JsonPlace& place, std::string name) {
  if (!place.is_object()) return place.wrong("an object that describes a node");
  QnnNode node;
  node.name = std::move(name);
  FATCTX_ASSIGN(const JsonPlace type, place.required("type"));
  FATCTX_ASSIGN(node.op, type.text());
  const Json* const package = place.value().find("package");
  if (package != nullptr && package->text() != nullptr && !package->text()->empty() &&
      *package->text() != kOwnPackage) {
    node.op = *package->text() + ":" + node.op;
  }
  FATCTX_ASSIGN(node.inputs, names_at(place, "input_names"));
  FATCTX_ASSIGN(node.outputs, names_at(place, "output_names"));
  for (const char* const list : {"scalar_params", "tensor_params"}) {
    const Json* const parameters = place.value().find(list);
    if (parameters == nullptr || parameters->members() == nullptr) continue;
    for (const auto& [key, value] : *parameters->members()) {
      node.parameters.push_back({key, parameter_words(value), std::string(dlc::kQnnOwner)});
    }
  }
  node.macs = macs_at(place);
  return node;
}

}  // namespace

Result<QnnNodes> nodes_from_qnn_json(std::string_view text, const std::string& file) {
  FATCTX_ASSIGN(const Json json, read_text(text, file));
  const JsonPlace root(file, json);
  if (!root.has("graph") || !root.at("graph").has("nodes")) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: no graph.nodes, which a converter writes; the JSON of a context binary states no "
                             "operators",
                             file)};
  }
  const JsonPlace graph = root.at("graph");
  const JsonPlace nodes = graph.at("nodes");
  if (!nodes.is_object()) return nodes.wrong("an object with a member for each node");
  QnnNodes result;
  for (const auto& [name, value] : *nodes.value().members()) {
    FATCTX_ASSIGN(QnnNode node, read_node(nodes.member(name, value), name));
    result.nodes.push_back(std::move(node));
  }
  if (!graph.has("tensors") || !graph.at("tensors").is_object()) return result;
  const JsonPlace tensors = graph.at("tensors");
  for (const auto& [name, value] : *tensors.value().members()) {
    const Json* const kind = value.find("type");
    if (kind != nullptr && kind->number() != nullptr && *kind->number() == kStatic) result.weights.insert(name);
    auto tensor = dlc::read_qnn_tensor(tensors.member(name, value), dlc::kConverterWords, name);
    if (tensor.ok()) result.tensors.push_back(std::move(tensor).value().described);
  }
  return result;
}

Result<QnnGraphs> graphs_from_qnn_json(std::string_view text, const std::string& file) {
  FATCTX_ASSIGN(const Json json, read_text(text, file));
  const JsonPlace root(file, json);
  const auto object_at = [&](std::string_view key, std::string_view inside) {
    return root.has(key) && root.at(key).has(inside);
  };
  QnnGraphs result;
  result.facts = facts_of(json);
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
