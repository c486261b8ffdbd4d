#include "tools/inspect/known_file.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/import_dlc.h"
#include "fatctx/import_gguf.h"
#include "fatctx/import_irpa.h"
#include "fatctx/import_safetensors.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/inspect/csv_text.h"
#include "tools/inspect/dlc_text.h"
#include "tools/inspect/graph_json.h"
#include "tools/inspect/info_text.h"
#include "tools/inspect/model_views.h"
#include "tools/inspect/qnn_json_text.h"
#include "tools/inspect/tensor_stats.h"
#include "tools/onnx/onnx_import.h"
#include "tools/pack/ep_context.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

namespace {

struct KnownForm {
  std::string_view format;
  std::string_view noun;
  std::string_view remark;
};
constexpr KnownForm kForms[] = {
    {"dlc", "DLC", ""},
    {"iree-vmfb", "IREE module",
     "for one target, which the file does not name; fatctx pack --binary FILE@BACKEND:ARCH puts it into a container"},
    {"ovep-bin", "OpenVINO binary",
     "opaque; fatctx pack --ep-context MODEL puts it into a container with the model beside it"},
    {"irpa", "IREE parameter archive", "fatctx pack --weights FILE makes it a weight blob"},
    {"gguf", "GGUF file", "fatctx pack --weights FILE makes it a weight blob"},
    {"safetensors", "safetensors file", "fatctx pack --weights FILE makes it a weight blob"},
    {"onnx", "ONNX model",
     "fatctx pack keeps it as a source model, or takes the binary of its EPContext nodes with --ep-context FILE"},
    {"qnn-json", "JSON of Snapdragon tools", "fatctx wrap --qnn-json takes it for the graphs of a binary"},
};

// The content of a file of weights.
struct Weights {
  std::vector<PackTensor> tensors;
  std::vector<DescribedOption> metadata;
  std::map<std::string, std::string>
      logical;  // type and shape by name, where the tensor's own are not those of the file
};

Result<Weights> weights_of(const std::string& path, std::string_view format) {
  Weights weights;
  if (format == "irpa") {
    FATCTX_ASSIGN(IrpaTensors found, tensors_from_irpa(path));
    weights.tensors = std::move(found.tensors);
    return weights;
  }
  FATCTX_ASSIGN(ImportedTensors found, format == "gguf" ? tensors_from_gguf(path) : tensors_from_safetensors(path));
  weights.tensors = std::move(found.tensors);
  weights.metadata = std::move(found.metadata);
  for (DescribedOption& option : found.options) {
    constexpr std::string_view kBefore = "tensor.";
    constexpr std::string_view kBehind = ".type";
    const std::size_t name_size = option.key.size() - kBefore.size() - kBehind.size();
    weights.logical.emplace(option.key.substr(kBefore.size(), name_size), std::move(option.value));
  }
  return weights;
}

// A tensor as the file calls it.
struct TensorRow {
  std::string name;
  std::string dtype;
  std::string shape;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

std::vector<TensorRow> rows_of(const Weights& weights, const FileViews& views) {
  std::vector<TensorRow> rows;
  for (const PackTensor& tensor : weights.tensors) {
    if (!fits_pattern(views.tensors.value_or(""), tensor.name)) continue;
    TensorRow row = {tensor.name, std::string(dtype_name(tensor.dtype)),
                     fmt::format("[{}]", fmt::join(tensor.shape, ", ")), tensor.offset_in_blob, tensor.size_bytes};
    if (const auto logical = weights.logical.find(tensor.name); logical != weights.logical.end()) {
      const std::size_t blank = logical->second.find(' ');
      row.dtype = logical->second.substr(0, blank);
      row.shape = logical->second.substr(blank + 1);
    }
    if (fits_pattern(views.filter.type, row.dtype)) rows.push_back(std::move(row));
  }
  if (views.filter.by_size) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.size > b.size; });
  }
  return rows;
}

std::string weights_text(const Weights& weights, const FileViews& views) {
  std::string out;
  if (!views.any() && !weights.metadata.empty()) {
    Table metadata({{"metadata"}, {"type"}, {"value"}});
    for (const DescribedOption& option : weights.metadata) metadata.add_row({option.key, option.owner, option.value});
    out = "\n" + metadata.text("", views.width);
  }
  if (views.summary) {
    std::map<std::string, OnnxWeightTotal> types;
    for (const TensorRow& row : rows_of(weights, views)) {
      ++types[row.dtype].tensors;
      types[row.dtype].bytes += row.size;
    }
    Table table({{"dtype"}, {"tensors", Table::Align::kRight}, {"bytes", Table::Align::kRight}});
    for (const auto& [type, total] : types) table.add_row({type, grouped(total.tensors), grouped(total.bytes)});
    out += "\n" + table.text("", views.width);
  }
  if (views.any() && !views.tensors) return out;
  Table table({{"name"}, {"dtype"}, {"shape"}, {"offset", Table::Align::kRight}, {"bytes", Table::Align::kRight}});
  for (const TensorRow& row : rows_of(weights, views)) {
    table.add_row({row.name, row.dtype, row.shape, offset_text(row.offset), grouped(row.size)});
  }
  return out + "\n" + table.text("", views.width);
}

std::string weights_csv(const Weights& weights, const FileViews& views) {
  CsvText csv({"name", "dtype", "shape", "offset", "size_bytes"});
  for (const TensorRow& row : rows_of(weights, views)) {
    csv.add_row({row.name, row.dtype, row.shape, fmt::format("{}", row.offset), fmt::format("{}", row.size)});
  }
  return csv.text();
}

// Computes the statistics of the tensors that a tensor table could have; blocks of other types have none.
Result<std::vector<CountedTensor>> weights_stats(const std::string& path, const Weights& weights,
                                                 const FileViews& views) {
  std::vector<CountedTensor> counted;
  ProgressLine line("stats");
  std::uint64_t done = 0;
  for (const PackTensor& tensor : weights.tensors) {
    const std::string dtype(dtype_name(tensor.dtype));
    if (weights.logical.contains(tensor.name) || !fits_pattern(views.tensors.value_or(""), tensor.name) ||
        !fits_pattern(views.filter.type, dtype)) {
      continue;
    }
    FATCTX_ASSIGN(TensorStats stats, stats_of_range(path, {tensor.offset_in_blob, tensor.size_bytes}, tensor.dtype,
                                                    elements_of(tensor.shape)));
    counted.push_back({tensor.name, dtype, stats});
    line.step(++done, weights.tensors.size(), tensor.name);
  }
  return counted;
}

Json weights_json(const Weights& weights) {
  Json list = Json::array();
  for (const PackTensor& tensor : weights.tensors) {
    const auto logical = weights.logical.find(tensor.name);
    Json json = {{"name", tensor.name},
                 {"dtype", dtype_name(tensor.dtype)},
                 {"shape", tensor.shape},
                 {"offset", tensor.offset_in_blob},
                 {"size_bytes", tensor.size_bytes}};
    if (logical != weights.logical.end()) json.add("stored_as", logical->second);
    list.push_back(std::move(json));
  }
  return list;
}

Json metadata_json(const std::vector<DescribedOption>& metadata) {
  Json list = Json::array();
  for (const DescribedOption& option : metadata) {
    list.push_back({{"key", option.key}, {"type", option.owner}, {"value", option.value}});
  }
  return list;
}

// Returns the graph of the model, then those of its EPContext nodes.
std::vector<DescribedGraph> graphs_of_model(const OnnxModel& model, const OnnxLook& look) {
  std::vector<DescribedGraph> graphs = graphs_of(look);
  for (const OnnxEpContext& node : model.ep_contexts) {
    DescribedGraph& graph = graphs.emplace_back();
    graph.name = node.partition_name.empty() ? node.name : node.partition_name;
    graph.inputs = node.inputs;
    graph.outputs = node.outputs;
    graph.spill_fill_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(node.max_size, 0));
    for (auto* const tensors : {&graph.inputs, &graph.outputs}) {
      for (DescribedTensor& tensor : *tensors) {
        const auto scale = node.quantised.find(tensor.name);
        if (scale != node.quantised.end()) tensor.scales = {{scale->second.scale, -scale->second.zero_point}};
      }
    }
  }
  return graphs;
}

std::string encoding_text(const OnnxWeight& weight) {
  if (weight.scales.empty()) return {};
  const std::int64_t zero_point = weight.zero_points.empty() ? 0 : weight.zero_points.front();
  if (weight.scales.size() == 1) return fmt::format("scale {}, zero point {}", weight.scales.front(), zero_point);
  const auto [least, most] = std::minmax_element(weight.scales.begin(), weight.scales.end());
  return fmt::format("{} scales along dimension {}{}, {} to {}", weight.scales.size(), weight.axis.value_or(0),
                     weight.block_size == 0 ? "" : fmt::format(" in blocks of {}", weight.block_size), *least, *most);
}

std::vector<const OnnxWeight*> chosen_weights(const OnnxLook& look, const FileViews& views) {
  std::vector<const OnnxWeight*> chosen;
  for (const OnnxWeight& weight : look.weights) {
    if (fits_pattern(views.tensors.value_or(""), weight.name) && fits_pattern(views.filter.type, weight.shape.dtype)) {
      chosen.push_back(&weight);
    }
  }
  if (views.filter.by_size) {
    std::stable_sort(chosen.begin(), chosen.end(), [](const auto* a, const auto* b) {
      return a->size_bytes.value_or(0) > b->size_bytes.value_or(0);
    });
  }
  return chosen;
}

std::string onnx_tensors_text(const OnnxLook& look, const FileViews& views) {
  Table table({{"name"}, {"dtype"}, {"shape"}, {"bytes", Table::Align::kRight}, {"place"}, {"encoding"}});
  for (const OnnxWeight* const weight : chosen_weights(look, views)) {
    table.add_row({weight->name, weight->shape.dtype, shape_words(weight->shape),
                   weight->size_bytes ? grouped(*weight->size_bytes) : "?",
                   weight->location.empty() ? "in the model"
                                            : fmt::format("{} {}", weight->location, offset_text(weight->offset)),
                   encoding_text(*weight)});
  }
  return table.text("", views.width);
}

std::string onnx_tensors_csv(const OnnxLook& look, const FileViews& views) {
  CsvText csv(
      {"name", "dtype", "shape", "size_bytes", "file", "offset", "scales", "zero_points", "axis", "block_size"});
  for (const OnnxWeight* const weight : chosen_weights(look, views)) {
    csv.add_row({weight->name, weight->shape.dtype, shape_words(weight->shape),
                 weight->size_bytes ? fmt::format("{}", *weight->size_bytes) : std::string(), weight->location,
                 weight->location.empty() ? std::string() : fmt::format("{}", weight->offset),
                 fmt::format("{}", fmt::join(weight->scales, " ")),
                 fmt::format("{}", fmt::join(weight->zero_points, " ")),
                 weight->axis ? fmt::format("{}", *weight->axis) : std::string(),
                 weight->block_size == 0 ? std::string() : fmt::format("{}", weight->block_size)});
  }
  return csv.text();
}

Json onnx_tensors_json(const OnnxLook& look, const FileViews& views) {
  Json list = Json::array();
  for (const OnnxWeight* const weight : chosen_weights(look, views)) {
    Json json = {{"name", weight->name},
                 {"dtype", weight->shape.dtype},
                 {"shape", weight->shape.sizes},
                 {"size_bytes", weight->size_bytes},
                 {"file", text_or_null(weight->location)},
                 {"offset", weight->location.empty() ? Json() : Json(weight->offset)}};
    if (!weight->scales.empty()) {
      Json scales = Json::array();
      for (const double scale : weight->scales) scales.push_back(Json(scale));
      json.add("scales", std::move(scales));
      json.add("zero_points", weight->zero_points);
      json.add("axis", weight->axis);
      json.add("block_size", weight->block_size);
    }
    list.push_back(std::move(json));
  }
  return list;
}

// Returns the head of a model, its operators, and the graphs whose binary is a file beside the model.
std::string onnx_text(const OnnxModel& model, const OnnxLook& look, std::size_t width) {
  Block block;
  block.add("graph", model.graph.name);
  std::vector<std::string> opsets;
  for (const auto& [domain, version] : look.opsets) opsets.push_back(fmt::format("{} {}", domain, version));
  block.add("opsets", fmt::format("{}", fmt::join(opsets, ", ")));
  if (!look.producer.empty()) block.add("producer", look.producer);
  block.add("operators", fmt::format("{}", fmt::join(model.operators, ", ")));
  if (!look.weights.empty()) {
    block.add(
        "weights",
        fmt::format("{}, {}{}", count_text(look.weights.size(), "tensor"), size_text(look.bytes_inside),
                    look.bytes_outside == 0 ? std::string()
                                            : fmt::format(", and {} in other files", size_text(look.bytes_outside))));
  }
  for (const auto& [key, value] : look.metadata) block.add("metadata", fmt::format("{} = {}", key, value));
  for (const OnnxEpContext& node : model.ep_contexts) {
    block.add("EPContext", fmt::format("{}{}", node.partition_name.empty() ? node.name : node.partition_name,
                                       node.cache.empty() ? "" : ", compiled in " + node.cache));
  }
  return block.text(width);
}

void add_onnx(Json& facts, const OnnxModel& model, const OnnxLook& look) {
  Json contexts = Json::array();
  for (const OnnxEpContext& node : model.ep_contexts) {
    contexts.push_back({{"partition_name", node.partition_name}, {"binary", node.cache}, {"source", node.source}});
  }
  Json opsets = Json::array();
  for (const auto& [domain, version] : look.opsets) opsets.push_back({{"domain", domain}, {"version", version}});
  facts.add("graph", model.graph.name);
  facts.add("ir_version", look.ir_version);
  facts.add("opsets", std::move(opsets));
  facts.add("producer", text_or_null(look.producer));
  facts.add("operators", std::vector<std::string>(model.operators.begin(), model.operators.end()));
  facts.add("weight_bytes", Json{{"inside", look.bytes_inside}, {"outside", look.bytes_outside}});
  facts.add("ep_contexts", std::move(contexts));
  Json metadata = Json::array();
  for (const auto& [key, value] : look.metadata) metadata.push_back({{"key", key}, {"type", "text"}, {"value", value}});
  facts.add("metadata", std::move(metadata));
}

struct Described {
  Json facts;
  std::string text;
  std::string csv;
};

// Describes an ONNX model: the requested views, or its head without any.
Status describe_onnx(const std::string& path, const FileViews& views, Described& described) {
  FATCTX_ASSIGN(const OnnxModel model, read_onnx(path));
  FATCTX_ASSIGN(ModelView view, model_of_file(path, views.ops || views.summary));
  add_onnx(described.facts, model, view.look);
  if (!views.any()) described.text += onnx_text(model, view.look, views.width);
  std::vector<std::string> sections;
  if (views.graphs) {
    Json graphs = Json::array();
    std::string text;
    std::vector<std::pair<std::string, DescribedGraph>> listed;
    for (const DescribedGraph& graph : graphs_of_model(model, view.look)) {
      if (!fits_pattern(views.filter.graph, graph.name)) continue;
      listed.emplace_back(path, graph);
      graphs.push_back(described_graph_json(graph));
      text += graph_text(graph, views.width);
    }
    described.csv += graphs_csv(listed);
    described.facts.add("graphs", std::move(graphs));
    sections.push_back(text.empty() ? "no graph fits --graph\n" : text);
  }
  if (views.tensors) {
    described.csv += onnx_tensors_csv(view.look, views);
    described.facts.add("weights", onnx_tensors_json(view.look, views));
    sections.push_back(onnx_tensors_text(view.look, views));
  }
  const std::vector<ModelView> models = {std::move(view)};
  if (views.ops) {
    described.csv += ops_csv(models, views.filter);
    described.facts.add("ops", ops_json(models, views.filter));
    sections.push_back(ops_text(models, views.filter, views.width));
  }
  if (views.summary) {
    described.facts.add("summary", models_summary_json(models));
    sections.push_back(models_summary_text(models, views.width));
  }
  for (std::size_t i = 0; i < sections.size(); ++i) described.text += (i == 0 ? "" : "\n") + sections[i];
  return Done{};
}

Result<std::string> dlc_views_text(const std::string& path, const FileViews& views) {
  FATCTX_ASSIGN(const DlcInfo info, list_dlc(path));
  if (views.json) return dlc_json(path, info, views.filter, views.ops);
  if (views.csv && views.ops) return dlc_ops_csv(info, views.filter);
  if (views.csv) return views.graphs ? dlc_graphs_csv(info, views.filter) : dlc_csv(info, views.filter);
  if (views.ops) return dlc_ops_text(info, views.filter, views.width);
  if (views.graphs) return dlc_graphs_text(info, views.filter, views.width);
  return dlc_text(path, info, views.filter, views.width);
}

// Refuses a view that files of this form do not have.
Status check_views(const std::string& path, const KnownForm& form, const FileViews& views) {
  const bool onnx = form.format == "onnx";
  const bool qnn = form.format == "qnn-json";
  const bool dlc = form.format == "dlc";
  const bool weights = form.format == "irpa" || form.format == "gguf" || form.format == "safetensors";
  const auto refused = [&](std::string_view view, std::string_view reason) {
    return invalid_argument(fmt::format("{}: {} {} {}; leave --{} out", path,
                                        form.noun.starts_with("O") || form.noun.starts_with("I") ? "an" : "a",
                                        form.noun, reason, view));
  };
  if (views.graphs && !onnx && !qnn && !dlc) return refused("graphs", "states no graphs");
  if (views.ops && !onnx && !qnn && !dlc) return refused("ops", "states no operators");
  if (dlc && views.ops && views.graphs && !views.json) {
    return invalid_argument(fmt::format("{}: --ops and --graphs of a DLC are two views; leave one out", path));
  }
  if (dlc && !views.filter.op.empty()) return refused("op", "does not name its operators");
  if (views.summary && !onnx && !weights)
    return refused("summary",
                   qnn ? "has no weights, and says the rest in the head" : "states no operators and no tensors");
  if (views.stats && !weights) return refused("stats", "is not read for the numbers of its tensors");
  if (views.csv && !dlc && !weights && !onnx && !qnn) return refused("csv", "has no table for it");
  if (views.csv && onnx && !views.graphs && !views.ops && !views.tensors) {
    return refused("csv", "needs --graphs, --ops or --tensors for it");
  }
  if (views.csv && qnn && views.graphs == views.ops) return refused("csv", "needs --graphs or --ops for it");
  if (views.tensors && !onnx && !weights) return refused("tensors", "states no tensors");
  return Done{};
}

}  // namespace

Result<std::optional<std::string>> known_file_text(const std::string& path, const FileViews& views) {
  std::optional<std::string> none;
  const std::string format = known_form(path);
  std::error_code unreadable;
  const std::uint64_t size = std::filesystem::file_size(path, unreadable);
  if (format.empty() || unreadable) return none;
  const auto* const form = std::find_if(std::begin(kForms), std::end(kForms),
                                        [&format](const KnownForm& row) { return row.format == format; });
  FATCTX_TRY(check_views(path, *form, views));
  if (format == "dlc") {
    FATCTX_ASSIGN(std::string text, dlc_views_text(path, views));
    return std::optional(std::move(text));
  }
  Described described;
  described.facts = {{"schema", "fatctx.file/1"}, {"file", path}, {"format", format}, {"size_bytes", size}};
  if (!views.any()) {
    described.text =
        escaped(fmt::format("{}: {}, {}; no container: {}", path, form->noun, size_text(size), form->remark)) + "\n";
  }
  if (format == "onnx") {
    FATCTX_TRY(describe_onnx(path, views, described));
  } else if (format == "qnn-json") {
    FATCTX_ASSIGN(const std::string text, qnn_json_text(path, views, described.facts));
    (views.csv ? described.csv : described.text) += text;
  } else if (format == "irpa" || format == "gguf" || format == "safetensors") {
    FATCTX_ASSIGN(const Weights weights, weights_of(path, format));
    if (format != "irpa") described.facts.add("metadata", metadata_json(weights.metadata));
    described.facts.add("tensors", weights_json(weights));
    if (views.stats) {
      FATCTX_ASSIGN(const std::vector<CountedTensor> counted, weights_stats(path, weights, views));
      described.facts.add("tensor_stats", stats_json(counted));
      described.csv = stats_csv(counted);
      described.text = stats_text(counted, views.width);
      return std::optional(views.json  ? json_text(described.facts)
                           : views.csv ? std::move(described.csv)
                                       : std::move(described.text));
    }
    described.csv = weights_csv(weights, views);
    const std::string text = weights_text(weights, views);
    described.text += views.any() ? text.substr(1) : text;  // begins with an empty line
  }
  return std::optional(views.json  ? json_text(described.facts)
                       : views.csv ? std::move(described.csv)
                                   : std::move(described.text));
}

std::string known_form(const std::string& path) {
  std::string format = format_of(path);
  if (!format.empty()) return format;
  if (tensor_source_of_file(path) == TensorSource::kSafetensors) return "safetensors";
  if (path.ends_with(".json") && has_qnn_graphs(path)) return "qnn-json";
  return path.ends_with(".onnx") ? "onnx" : std::string();
}

std::string known_forms() {
  std::string forms;
  for (const KnownForm& form : kForms) forms += fmt::format("{}{}", forms.empty() ? "" : ", ", form.noun);
  return forms;
}

}  // namespace fatctx::tools
