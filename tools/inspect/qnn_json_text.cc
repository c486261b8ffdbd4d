#include "tools/inspect/qnn_json_text.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/print.h"
#include "tools/facts/json_file.h"
#include "tools/facts/qnn_json.h"
#include "tools/facts/qnn_model.h"
#include "tools/inspect/csv_text.h"
#include "tools/inspect/graph_facts.h"
#include "tools/inspect/graph_json.h"
#include "tools/inspect/info_text.h"
#include "tools/inspect/model_views.h"

namespace fatctx::tools {

namespace {

Json metadata_of(const QnnJson& json) {
  Json list = Json::array();
  for (const DescribedOption& fact : json.facts) {
    list.push_back({{"key", fact.key}, {"type", "text"}, {"value", fact.value}});
  }
  return list;
}

// The graphs that fit, in all three forms.
struct ShownGraphs {
  std::vector<std::pair<std::string, DescribedGraph>> rows;
  Json json = Json::array();
  std::string text;
};

ShownGraphs shown_graphs(const std::string& path, const QnnJson& json, const FileViews& views) {
  ShownGraphs shown;
  for (DescribedGraph graph : json.described) {
    if (graph.name.empty()) graph.name = kQnnGraph;
    if (!fits_pattern(views.filter.graph, graph.name)) continue;
    shown.json.push_back(described_graph_json(graph));
    shown.text += graph_text(graph, views.width);
    shown.rows.emplace_back(path, std::move(graph));
  }
  if (shown.text.empty()) shown.text = "no graph fits --graph\n";
  return shown;
}

}  // namespace

bool has_qnn_graphs(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text.ok()) return false;
  const std::size_t first = text.value().find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text.value()[first] != '{') return false;
  const auto json = parse_json(text.value(), path);
  if (!json.ok()) return false;
  const auto has = [&](std::string_view outer, std::string_view inner) {
    const Json* const found = json.value().find(outer);
    return found != nullptr && found->find(inner) != nullptr;
  };
  return has("info", "graphs") || has("graph", "tensors");
}

Result<std::string> qnn_json_text(const std::string& path, const FileViews& views, Json& facts) {
  FATCTX_ASSIGN(const QnnJson json, read_qnn_json(path));
  if (!json.build_id.empty()) facts.add("producer", json.build_id);
  facts.add("metadata", metadata_of(json));
  std::string text;
  std::string csv;
  if (!views.any()) {
    if (!json.build_id.empty()) text += escaped(fmt::format("build: {}", json.build_id)) + "\n";
    text += said_facts_text(json.facts, views.width) + shown_graphs(path, json, views).text;
  }
  if (views.graphs) {
    ShownGraphs graphs = shown_graphs(path, json, views);
    text += graphs.text;
    csv += graphs_csv(graphs.rows);
    facts.add("graphs", std::move(graphs.json));
  }
  if (views.ops) {
    ModelView model;
    model.name = path;
    model.shapes = "as the converter states them";
    FATCTX_ASSIGN(model.look, look_at_qnn_json(path));
    const std::vector<ModelView> models = {std::move(model)};
    text += (text.empty() ? "" : "\n") + ops_text(models, views.filter, views.width);
    csv += ops_csv(models, views.filter);
    facts.add("ops", ops_json(models, views.filter));
  }
  return views.csv ? csv : text;
}

Result<std::optional<std::string>> binary_with_json_text(const std::string& path, const FileViews& views) {
  std::error_code unreadable;
  const std::uint64_t size = std::filesystem::file_size(path, unreadable);
  if (unreadable) return std::optional<std::string>();
  const std::vector<std::string> places = {path + ".json",
                                           std::filesystem::path(path).replace_extension(".json").string()};
  for (const std::string& beside : places) {
    if (beside == path || !std::filesystem::is_regular_file(beside, unreadable)) continue;
    const auto parsed = read_qnn_json(beside);
    if (!parsed.ok()) continue;  // about something else
    const QnnJson& json = parsed.value();
    if (views.ops || views.summary || views.tensors) {
      return invalid_argument(
          fmt::format("{}: {} beside it describes graphs only; leave the other views out", path, beside));
    }
    ShownGraphs graphs = shown_graphs(path, json, views);
    std::string text;
    if (!views.graphs) {
      text = escaped(
                 fmt::format("{}: opaque binary, {}; its graphs as {} describes them", path, size_text(size), beside)) +
             "\n";
      if (!json.build_id.empty()) text += escaped(fmt::format("build: {}", json.build_id)) + "\n";
      text += said_facts_text(json.facts, views.width);
    }
    if (views.csv) return std::optional(graphs_csv(graphs.rows));
    if (!views.json) return std::optional(text + graphs.text);
    Json facts = {{"schema", "fatctx.file/1"},
                  {"file", path},
                  {"format", "opaque"},
                  {"size_bytes", size},
                  {"described_by", beside}};
    if (!json.build_id.empty()) facts.add("producer", json.build_id);
    if (!json.facts.empty()) facts.add("metadata", metadata_of(json));
    facts.add("graphs", std::move(graphs.json));
    return std::optional(json_text(facts));
  }
  return std::optional<std::string>();
}

}  // namespace fatctx::tools
