#include "tools/inspect/model_views.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/extract.h"
#include "tools/cli/find_record.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/whole_container.h"
#include "tools/inspect/inferred_shapes.h"

namespace fatctx::tools {

namespace {

constexpr std::uint64_t kLargestModel = (std::uint64_t{1} << 31) - 1;  // of protobuf

Result<std::string> content_of(const Container& container, const RecordInfo& record) {
  if (record.size_bytes > kLargestModel) {
    return Error{ErrorCode::kLimitExceeded, fmt::format("record \"{}\": {} bytes; an ONNX model has at most {}",
                                                        record.name, record.size_bytes, kLargestModel)};
  }
  std::string content;
  content.reserve(static_cast<std::size_t>(record.size_bytes));
  ProgressLine line("read");
  FATCTX_TRY(stream_record(
      container, record.id,
      [&content](ByteView bytes) -> Status {
        content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Done{};
      },
      line.callback()));
  return content;
}

std::vector<RecordInfo> onnx_models(const Container& container, const ContainerDescription& description,
                                    const ViewFilter& filter) {
  std::vector<RecordInfo> models;
  for (const RecordInfo& record : all_records(container)) {
    if (record.type != RecordType::kSourceModel || !fits_pattern(filter.record, record.name)) continue;
    const RecordDescription* const said = description.find(record.id);
    const bool is_onnx = said != nullptr && said->format == "onnx";
    if (is_onnx || record.name.ends_with(".onnx")) models.push_back(record);
  }
  return models;
}

Result<ModelView> view_of(const OnnxSource& source, const std::string& path, const std::string& record,
                          std::uint64_t generation, bool infer) {
  ModelView view;
  view.name = record.empty() ? path : record;
  InferredShapes inferred{{}, "as the model states them"};
  if (infer) inferred = inferred_shapes(path, record, generation);
  view.shapes = inferred.remark;
  FATCTX_ASSIGN(view.look, look_at_onnx(source, inferred.shapes));
  return view;
}

// The nodes of one operator.
struct OpCount {
  std::uint64_t nodes = 0;
  std::uint64_t macs = 0;
  std::uint64_t unknown = 0;  // nodes that multiply, but whose shapes are not known
};

struct Costs {
  std::map<std::string, OpCount> ops;
  OpCount all;
};

Costs costs_of(const OnnxLook& look) {
  Costs costs;
  for (const OnnxGraphLook& graph : look.graphs) {
    for (const OnnxNode& node : graph.nodes) {
      for (OpCount* count : {&costs.ops[node.op], &costs.all}) {
        ++count->nodes;
        count->macs += node.macs.value_or(0);
        if (node.multiplies && !node.macs) ++count->unknown;
      }
    }
  }
  return costs;
}

template <typename Map>
std::vector<std::pair<std::string, typename Map::mapped_type>> most_first(
    const Map& map, std::uint64_t (*weight)(const typename Map::mapped_type&)) {
  std::vector<std::pair<std::string, typename Map::mapped_type>> rows(map.begin(), map.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [weight](const auto& a, const auto& b) { return weight(a.second) > weight(b.second); });
  return rows;
}

std::string opsets_text(const OnnxLook& look) {
  std::vector<std::string> texts;
  for (const auto& [domain, version] : look.opsets) texts.push_back(fmt::format("{} {}", domain, version));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string macs_text(const OpCount& count) {
  if (count.unknown == 0) return grouped(count.macs);
  return fmt::format("{}{}", count.macs == 0 ? "" : "at least " + grouped(count.macs) + ", ",
                     fmt::format("{} of unknown shape", count_text(count.unknown, "node")));
}

std::string activations_text(const OnnxActivations& found) {
  const std::string unknown = count_text(found.unknown, "tensor");
  if (found.peak_bytes == 0) return found.unknown == 0 ? "none" : fmt::format("unknown: {} of open size", unknown);
  const std::string peak = fmt::format("{} at node {}", size_text(found.peak_bytes), found.peak_node);
  return found.unknown == 0 ? peak : fmt::format("at least {}, without {} of open size", peak, unknown);
}

std::string one_summary(const ModelView& model, std::size_t width) {
  const OnnxLook& look = model.look;
  const Costs costs = costs_of(look);
  OnnxWeightTotal parameters;
  for (const auto& [type, total] : look.parameters) {
    parameters.tensors += total.tensors;
    parameters.elements += total.elements;
    parameters.bytes += total.bytes;
  }
  Block block;
  block.add("model", model.name);
  block.add("graph", look.graph);
  block.add("operator sets", opsets_text(look));
  block.add("shapes", model.shapes);
  block.add("nodes", fmt::format("{}, {}, {}", grouped(costs.all.nodes), count_text(costs.ops.size(), "operator"),
                                 count_text(look.graphs.size(), "graph")));
  block.add("parameters", fmt::format("{} in {}, {}", grouped(parameters.elements),
                                      count_text(parameters.tensors, "tensor"), size_text(parameters.bytes)));
  block.add("multiply-adds", macs_text(costs.all));
  block.add("activations", activations_text(look.activations));
  std::string out = block.text(width);
  Table ops({{"operator"}, {"nodes", Table::Align::kRight}, {"multiply-adds", Table::Align::kRight}});
  for (const auto& [op, count] : most_first(
           costs.ops, +[](const OpCount& count) { return count.nodes; })) {
    ops.add_row({op, grouped(count.nodes), count.macs == 0 && count.unknown == 0 ? "" : macs_text(count)});
  }
  out += "\n" + ops.text("", width);
  if (look.parameters.empty()) return out;
  Table types({{"parameters"},
               {"tensors", Table::Align::kRight},
               {"elements", Table::Align::kRight},
               {"bytes", Table::Align::kRight}});
  for (const auto& [type, total] : most_first(
           look.parameters, +[](const OnnxWeightTotal& total) { return total.bytes; })) {
    types.add_row({type, grouped(total.tensors), grouped(total.elements), grouped(total.bytes)});
  }
  return out + "\n" + types.text("", width);
}

Json shape_json(const OnnxShape& shape) { return shape.sizes ? Json(*shape.sizes) : Json(); }

Json node_tensors_json(const std::vector<OnnxNodeTensor>& tensors) {
  Json list = Json::array();
  for (const OnnxNodeTensor& tensor : tensors) {
    list.push_back({{"name", tensor.name},
                    {"dtype", text_or_null(tensor.shape.dtype)},
                    {"shape", shape_json(tensor.shape)},
                    {"weight", tensor.weight}});
  }
  return list;
}

Json node_json(const OnnxGraphLook& graph, const OnnxNode& node) {
  Json parameters = Json::array();
  for (const auto& [key, value] : node.parameters) parameters.push_back({{"key", key}, {"value", value}});
  return {{"graph", graph.name},
          {"index", node.index},
          {"name", node.name},
          {"op", node.op},
          {"inputs", node_tensors_json(node.inputs)},
          {"outputs", node_tensors_json(node.outputs)},
          {"parameters", std::move(parameters)},
          {"macs", node.macs}};
}

// Adds what all documents about a model begin with.
Json model_json(const ModelView& model) {
  Json opsets = Json::array();
  for (const auto& [domain, version] : model.look.opsets) {
    opsets.push_back({{"domain", domain}, {"version", version}});
  }
  return {{"model", model.name}, {"record", model.record}, {"opsets", std::move(opsets)}, {"shapes", model.shapes}};
}

std::string tensor_lines(std::string_view role, const std::vector<OnnxNodeTensor>& tensors, std::size_t width) {
  constexpr std::size_t kLeastName = 24;  // columns
  std::string out;
  for (const OnnxNodeTensor& tensor : tensors) {
    if (tensor.name.empty()) continue;
    const std::string before = fmt::format("    {}  ", role);
    const std::string behind =
        escaped(fmt::format("  {}{}{}", tensor.shape.dtype.empty() ? "" : tensor.shape.dtype + " ",
                            shape_words(tensor.shape), tensor.weight ? "  weight" : ""));
    const std::size_t taken = before.size() + behind.size();
    const std::size_t left = width > taken + kLeastName ? width - taken : kLeastName;
    const std::string name = escaped(tensor.name);
    out += fmt::format("{}{}{}\n", before, width == 0 ? name : shortened(name, left), behind);
  }
  return out;
}

// Returns lines that go on below their beginning.
std::string indented_lines(const std::string& text, std::size_t width) {
  constexpr std::string_view kIndent = "    ";
  if (width == 0) return std::string(kIndent) + text + "\n";
  std::string out;
  for (const std::string& line : broken_lines(text, width - kIndent.size())) out += std::string(kIndent) + line + "\n";
  return out;
}

std::string node_text(const OnnxNode& node, std::size_t width) {
  const std::string before = escaped(fmt::format("  {}  {}  ", node.index, node.op));
  const std::string name = escaped(node.name);
  std::string out = before + (width > before.size() ? shortened(name, width - before.size()) : name);
  out.erase(out.find_last_not_of(' ') + 1);
  out += "\n";
  out += tensor_lines("in ", node.inputs, width) + tensor_lines("out", node.outputs, width);
  std::vector<std::string> facts;
  for (const auto& [key, value] : node.parameters) facts.push_back(fmt::format("{} {}", key, value));
  if (!facts.empty()) out += indented_lines(escaped(fmt::format("{}", fmt::join(facts, ", "))), width);
  if (node.macs) out += fmt::format("    multiply-adds  {}\n", grouped(*node.macs));
  return out;
}

}  // namespace

std::string shape_words(const OnnxShape& shape) {
  if (!shape.sizes) return "?";
  std::vector<std::string> sizes;
  for (const std::int64_t size : *shape.sizes) sizes.push_back(size < 0 ? "?" : fmt::format("{}", size));
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

Result<std::string> stored_model(const std::string& container_path, const std::string& record,
                                 std::uint64_t generation) {
  FATCTX_ASSIGN(const Container container, open_whole(container_path, {.generation = generation}));
  FATCTX_ASSIGN(const RecordInfo found, find_record(container, record));
  return content_of(container, found);
}

Result<ModelView> model_of_file(const std::string& path, bool infer) { return view_of({path}, path, "", 0, infer); }

bool has_models(const Container& container, const ContainerDescription& description, const ViewFilter& filter) {
  return !onnx_models(container, description, filter).empty();
}

Result<std::vector<ModelView>> models_of_container(const Container& container, const ContainerDescription& description,
                                                   const ViewFilter& filter, std::uint64_t generation, bool infer) {
  std::vector<ModelView> models;
  for (const RecordInfo& record : onnx_models(container, description, filter)) {
    FATCTX_ASSIGN(const std::string content, content_of(container, record));
    const std::string name(record.name);
    FATCTX_ASSIGN(ModelView view, view_of({name, std::as_bytes(std::span(content))}, container.path(),
                                          fmt::format("#{}", record.id), generation, infer));
    view.name = name;
    view.record = record.id;
    models.push_back(std::move(view));
  }
  if (!models.empty()) return models;
  return Error{ErrorCode::kUnsupported,
               fmt::format("{}: no record is a source model in the form of ONNX, which has the operators; context "
                           "binaries do not state them; a record of the type source_model keeps the model",
                           container.path())};
}

std::vector<DescribedGraph> graphs_of(const OnnxLook& look) {
  const auto described = [](const std::vector<OnnxNodeTensor>& from) {
    std::vector<DescribedTensor> tensors;
    for (const OnnxNodeTensor& tensor : from) {
      DescribedTensor& made = tensors.emplace_back();
      made.name = tensor.name;
      made.dtype = tensor.shape.dtype;
      if (tensor.shape.sizes) made.shape = *tensor.shape.sizes;
      if (tensor.scale) made.scales = {*tensor.scale};
    }
    return tensors;
  };
  std::vector<DescribedGraph> graphs;
  const OnnxGraphLook& main = look.graphs.front();
  DescribedGraph& graph = graphs.emplace_back();
  graph.name = look.graph;
  graph.inputs = described(main.inputs);
  graph.outputs = described(main.outputs);
  return graphs;
}

std::string ops_text(const std::vector<ModelView>& models, const ViewFilter& filter, std::size_t width) {
  std::string out;
  for (const ModelView& model : models) {
    std::string nodes;
    for (const OnnxGraphLook& graph : model.look.graphs) {
      if (!fits_pattern(filter.graph, graph.name)) continue;
      std::string of_graph;
      for (const OnnxNode& node : graph.nodes) {
        if (fits_pattern(filter.op, node.op)) of_graph += node_text(node, width);
      }
      if (!of_graph.empty()) nodes += escaped(graph.name) + "\n" + of_graph;
    }
    if (!out.empty()) out += "\n";
    Block block;
    block.add("model", model.name);
    if (!model.look.opsets.empty()) block.add("operator sets", opsets_text(model.look));
    block.add("shapes", model.shapes);
    out += block.text(width) + "\n" + (nodes.empty() ? "no node fits --graph and --op\n" : nodes);
  }
  return out;
}

std::string models_summary_text(const std::vector<ModelView>& models, std::size_t width) {
  std::string out;
  for (const ModelView& model : models) out += (out.empty() ? "" : "\n") + one_summary(model, width);
  return out;
}

Json ops_json(const std::vector<ModelView>& models, const ViewFilter& filter) {
  Json list = Json::array();
  for (const ModelView& model : models) {
    Json nodes = Json::array();
    for (const OnnxGraphLook& graph : model.look.graphs) {
      if (!fits_pattern(filter.graph, graph.name)) continue;
      for (const OnnxNode& node : graph.nodes) {
        if (fits_pattern(filter.op, node.op)) nodes.push_back(node_json(graph, node));
      }
    }
    Json json = model_json(model);
    json.add("nodes", std::move(nodes));
    list.push_back(std::move(json));
  }
  return list;
}

Json models_summary_json(const std::vector<ModelView>& models) {
  Json list = Json::array();
  for (const ModelView& model : models) {
    const Costs costs = costs_of(model.look);
    Json ops = Json::array();
    for (const auto& [op, count] : costs.ops) {
      ops.push_back({{"op", op}, {"nodes", count.nodes}, {"macs", count.macs}, {"unknown_nodes", count.unknown}});
    }
    Json parameters = Json::array();
    for (const auto& [type, total] : model.look.parameters) {
      parameters.push_back(
          {{"dtype", type}, {"tensors", total.tensors}, {"elements", total.elements}, {"size_bytes", total.bytes}});
    }
    const OnnxActivations& activations = model.look.activations;
    Json json = model_json(model);
    json.add("ops", std::move(ops));
    json.add("parameters", std::move(parameters));
    json.add("macs", costs.all.macs);
    json.add("unknown_nodes", costs.all.unknown);
    json.add("activations", Json{{"peak_bytes", activations.peak_bytes},
                                 {"peak_node", activations.peak_node},
                                 {"unknown_tensors", activations.unknown}});
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace fatctx::tools
