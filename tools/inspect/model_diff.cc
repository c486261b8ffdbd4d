#include "tools/inspect/model_diff.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/container.h"
#include "tools/cli/print.h"
#include "tools/facts/qnn_model.h"
#include "tools/inspect/dlc_container.h"
#include "tools/inspect/known_file.h"
#include "tools/inspect/model_views.h"

namespace fatctx::tools {

namespace {

std::string type_words(const OnnxShape& shape) {
  return shape.dtype.empty() && !shape.sizes ? std::string() : fmt::format("{} {}", shape.dtype, shape_words(shape));
}

std::string scale_words(const std::optional<DescribedScale>& scale) {
  return scale ? fmt::format("scale {}, offset {}", scale->scale, scale->offset) : std::string();
}

std::string names_words(const std::vector<OnnxNodeTensor>& tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const OnnxNodeTensor& tensor : tensors) names.push_back(tensor.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void compare_fact(std::string what, std::string before, std::string after, std::vector<ModelFact>& facts) {
  if (before != after) facts.push_back({std::move(what), std::move(before), std::move(after)});
}

OnnxLook look_at_graph(const DescribedGraph& graph) {
  OnnxLook look;
  look.graph = graph.name;
  OnnxGraphLook& made = look.graphs.emplace_back();
  made.name = graph.name;
  for (const DescribedTensor& tensor : graph.inputs) made.inputs.push_back(border_tensor(tensor));
  for (const DescribedTensor& tensor : graph.outputs) made.outputs.push_back(border_tensor(tensor));
  return look;
}

Result<DiffedModel> model_in_file(const std::string& path) {
  DiffedModel model{.path = path, .record = {}, .look = {}};
  if (known_form(path) == "onnx") {
    FATCTX_ASSIGN(ModelView view, model_of_file(path, false));
    model.look = std::move(view.look);
  } else {
    FATCTX_ASSIGN(model.look, look_at_qnn_json(path));
  }
  return model;
}

// Takes the graph with the name of the other model's, or the only one.
Result<DiffedModel> graph_in_container(const std::string& path, const Container& container,
                                       const ContainerDescription& description, const OnnxLook& other) {
  const DescribedGraph* chosen = nullptr;
  std::uint32_t record = 0;
  std::set<std::string> names;
  for (const RecordDescription& said : description.records) {
    for (const DescribedGraph& graph : said.graphs) {
      names.insert(graph.name);
      const bool better = chosen != nullptr && chosen->name != other.graph && graph.name == other.graph;
      if (chosen != nullptr && !better) continue;
      chosen = &graph;
      record = said.record_id;
    }
  }
  if (chosen == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: has neither a source model in the form of ONNX nor graphs that are described; "
                             "fatctx pack keeps both",
                             path)};
  }
  if (names.size() > 1 && chosen->name != other.graph) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: has no graph \"{}\", which the model has, but: {}", path,
                                                          other.graph, fmt::join(names, ", "))};
  }
  const auto info = container.record(record);
  const bool named = info.ok() && !info.value().name.empty();
  return DiffedModel{.path = path,
                     .record = named ? std::string(info.value().name) : fmt::format("#{}", record),
                     .states_ops = false,
                     .look = look_at_graph(*chosen)};
}

Result<DiffedModel> model_in_container(const std::string& path, const std::string& other_path, const OnnxLook& other,
                                       const OpenOptions& options) {
  FATCTX_ASSIGN(const OpenedOrPacked opened, open_or_pack(path, options, ""));
  FATCTX_ASSIGN(const ContainerDescription description, opened.container.describe());
  auto found = models_of_container(opened.container, description, {}, 0, false);
  if (!found.ok() && found.error().code == ErrorCode::kUnsupported) {
    return graph_in_container(path, opened.container, description, other);
  }
  if (!found.ok()) return std::move(found).error();
  std::vector<ModelView> models = std::move(found).value();
  std::size_t chosen = 0;
  if (models.size() > 1) {
    const std::filesystem::path file(other_path);
    std::vector<std::string> names;
    chosen = models.size();
    for (std::size_t i = 0; i < models.size(); ++i) {
      names.push_back(models[i].name);
      if (models[i].name == file.filename().string() || models[i].name == file.stem().string()) chosen = i;
    }
    if (chosen == models.size()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{}: has {} source models, and none has the name of {}; fatctx extract writes one to a "
                               "file, and that can be compared: {}",
                               path, names.size(), other_path, fmt::join(names, ", "))};
    }
  }
  DiffedModel model{.path = path, .record = models[chosen].name, .look = std::move(models[chosen].look)};
  if (model.record.empty()) model.record = fmt::format("#{}", models[chosen].record.value_or(0));
  return model;
}

// --- the comparison

void compare_borders(std::string_view kind, const std::vector<OnnxNodeTensor>& before,
                     const std::vector<OnnxNodeTensor>& after, std::vector<ModelDifference>& differences) {
  std::map<std::string_view, const OnnxNodeTensor*> later;
  for (const OnnxNodeTensor& tensor : after) later.emplace(tensor.name, &tensor);
  std::set<std::string_view> earlier;
  const auto facts_of = [](const OnnxNodeTensor* was, const OnnxNodeTensor* is) {
    std::vector<ModelFact> facts;
    compare_fact("type", was == nullptr ? "" : type_words(was->shape), is == nullptr ? "" : type_words(is->shape),
                 facts);
    compare_fact("encoding", was == nullptr ? "" : scale_words(was->scale), is == nullptr ? "" : scale_words(is->scale),
                 facts);
    return facts;
  };
  for (const OnnxNodeTensor& tensor : before) {
    earlier.insert(tensor.name);
    const auto found = later.find(tensor.name);
    const OnnxNodeTensor* const is = found == later.end() ? nullptr : found->second;
    std::vector<ModelFact> facts = facts_of(&tensor, is);
    if (is != nullptr && facts.empty()) continue;
    differences.push_back(
        {is == nullptr ? "removed" : "changed", std::string(kind), "", tensor.name, "", std::move(facts)});
  }
  for (const OnnxNodeTensor& tensor : after) {
    if (earlier.contains(tensor.name)) continue;
    differences.push_back({"added", std::string(kind), "", tensor.name, "", facts_of(nullptr, &tensor)});
  }
}

// A node with the graph that has it. The main graph has no name here: it differs between exports of one model.
struct PlacedNode {
  std::string graph;
  const OnnxNode* node = nullptr;
  bool matched = false;
};

std::vector<PlacedNode> placed_nodes(const OnnxLook& look) {
  std::vector<PlacedNode> nodes;
  const std::string main = look.graphs.empty() ? std::string() : look.graphs.front().name;
  for (const OnnxGraphLook& graph : look.graphs) {
    const std::string inner = graph.name.starts_with(main) ? graph.name.substr(main.size()) : graph.name;
    for (const OnnxNode& node : graph.nodes) nodes.push_back({inner, &node});
  }
  return nodes;
}

using NodeKey = std::tuple<std::string, std::string, std::string>;

NodeKey by_name(const PlacedNode& placed) { return {placed.graph, placed.node->name, ""}; }
NodeKey by_output(const PlacedNode& placed) {
  return {placed.graph, placed.node->outputs.empty() ? "" : placed.node->outputs.front().name, ""};
}
NodeKey by_content(const PlacedNode& placed) {
  std::string parameters;
  for (const auto& [key, value] : placed.node->parameters) parameters += fmt::format("{}\n{}\n", key, value);
  return {placed.graph, placed.node->op + '\n' + names_words(placed.node->inputs), parameters};
}

// Pairs nodes that are left and have one key, in the order of the models. Keys without a word in the middle do not
// count.
void match(std::vector<PlacedNode>& before, std::vector<PlacedNode>& after, NodeKey (*key_of)(const PlacedNode&),
           std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  std::map<NodeKey, std::vector<std::size_t>> later;  // the last first
  for (std::size_t i = after.size(); i-- > 0;) {
    if (!after[i].matched) later[key_of(after[i])].push_back(i);
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].matched) continue;
    const NodeKey key = key_of(before[i]);
    const auto found = later.find(key);
    if (std::get<1>(key).empty() || found == later.end() || found->second.empty()) continue;
    const std::size_t is = found->second.back();
    found->second.pop_back();
    before[i].matched = after[is].matched = true;
    pairs.emplace_back(i, is);
  }
}

std::vector<ModelFact> facts_of_nodes(const OnnxNode& was, const OnnxNode& is) {
  std::vector<ModelFact> facts;
  compare_fact("name", was.name, is.name, facts);
  compare_fact("operator", was.op, is.op, facts);
  compare_fact("inputs", names_words(was.inputs), names_words(is.inputs), facts);
  compare_fact("outputs", names_words(was.outputs), names_words(is.outputs), facts);
  std::map<std::string, std::pair<std::string, std::string>> parameters;
  for (const auto& [key, value] : was.parameters) parameters[key].first = value;
  for (const auto& [key, value] : is.parameters) parameters[key].second = value;
  for (const auto& [key, values] : parameters) compare_fact("parameter " + key, values.first, values.second, facts);
  compare_fact("encoding", scale_words(was.scale), scale_words(is.scale), facts);
  for (std::size_t i = 0; i < std::min(was.outputs.size(), is.outputs.size()); ++i) {
    const std::string before = type_words(was.outputs[i].shape);
    const std::string after = type_words(is.outputs[i].shape);
    // A model need not state the types between its nodes.
    if (!before.empty() && !after.empty()) compare_fact("type of " + is.outputs[i].name, before, after, facts);
  }
  return facts;
}

// A node without a name is known by its first output.
std::string known_name(const OnnxNode& node) {
  return node.name.empty() && !node.outputs.empty() ? node.outputs.front().name : node.name;
}

void compare_nodes(const OnnxLook& was, const OnnxLook& is, ModelDiff& diff) {
  std::vector<PlacedNode> before = placed_nodes(was);
  std::vector<PlacedNode> after = placed_nodes(is);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  match(before, after, by_name, pairs);
  match(before, after, by_output, pairs);
  match(before, after, by_content, pairs);
  std::sort(pairs.begin(), pairs.end());
  for (const PlacedNode& placed : before) {
    if (placed.matched) continue;
    diff.differences.push_back({"removed", "operator", placed.graph, known_name(*placed.node), placed.node->op, {}});
  }
  for (const auto& [i, j] : pairs) {
    std::vector<ModelFact> facts = facts_of_nodes(*before[i].node, *after[j].node);
    if (facts.empty()) {
      ++diff.same_ops;
      continue;
    }
    diff.differences.push_back(
        {"changed", "operator", after[j].graph, known_name(*after[j].node), after[j].node->op, std::move(facts)});
  }
  for (const PlacedNode& placed : after) {
    if (placed.matched) continue;
    diff.differences.push_back({"added", "operator", placed.graph, known_name(*placed.node), placed.node->op, {}});
  }
}

std::string scales_words(const OnnxWeight& weight) {
  if (weight.scales.empty()) return {};
  const std::int64_t first = weight.zero_points.empty() ? 0 : weight.zero_points.front();
  if (weight.scales.size() == 1) return fmt::format("scale {}, zero point {}", weight.scales.front(), first);
  const auto [least, most] = std::minmax_element(weight.scales.begin(), weight.scales.end());
  return fmt::format("{} scales along dimension {}{}, {} to {}", weight.scales.size(), weight.axis.value_or(0),
                     weight.block_size == 0 ? "" : fmt::format(" in blocks of {}", weight.block_size), *least, *most);
}

std::vector<ModelFact> facts_of_weights(const OnnxWeight& was, const OnnxWeight& is) {
  std::vector<ModelFact> facts;
  compare_fact("type", type_words(was.shape), type_words(is.shape), facts);
  if (was.scales == is.scales && was.zero_points == is.zero_points && was.axis == is.axis &&
      was.block_size == is.block_size) {
    return facts;
  }
  const std::string before = scales_words(was);
  std::string after = scales_words(is);
  if (before == after) {
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < is.scales.size(); ++i) {
      const auto zero_point = [i](const OnnxWeight& weight) {
        return i < weight.zero_points.size() ? weight.zero_points[i] : 0;
      };
      if (was.scales[i] != is.scales[i] || zero_point(was) != zero_point(is)) ++others;
    }
    if (others != 0) after += fmt::format(", {} of them {}", grouped(others), others == 1 ? "another one" : "others");
  }
  compare_fact("encoding", before, after, facts);
  return facts;
}

void compare_weights(const OnnxLook& was, const OnnxLook& is, std::vector<ModelDifference>& differences) {
  std::map<std::string_view, const OnnxWeight*> later;
  for (const OnnxWeight& weight : is.weights) later.emplace(weight.name, &weight);
  std::set<std::string_view> earlier;
  for (const OnnxWeight& weight : was.weights) {
    earlier.insert(weight.name);
    const auto found = later.find(weight.name);
    std::vector<ModelFact> facts = {{"type", type_words(weight.shape), ""}};
    if (found != later.end()) facts = facts_of_weights(weight, *found->second);
    if (facts.empty()) continue;
    differences.push_back(
        {found == later.end() ? "removed" : "changed", "weight", "", weight.name, "", std::move(facts)});
  }
  for (const OnnxWeight& weight : is.weights) {
    if (earlier.contains(weight.name)) continue;
    differences.push_back({"added", "weight", "", weight.name, "", {{"type", "", type_words(weight.shape)}}});
  }
}

// --- the answer

std::string side_words(const DiffedModel& model) {
  return model.record.empty() ? model.path : fmt::format("{}, record \"{}\"", model.path, model.record);
}

std::string counts_words(const ModelDiff& diff, std::string_view kind) {
  std::vector<std::string> counts;
  if (kind == "operator") counts.push_back(fmt::format("{} the same", grouped(diff.same_ops)));
  for (const std::string_view change : {"added", "removed", "changed"}) {
    const auto count = std::count_if(diff.differences.begin(), diff.differences.end(), [&](const auto& difference) {
      return difference.kind == kind && difference.change == change;
    });
    if (count != 0) counts.push_back(fmt::format("{} {}", grouped(static_cast<std::uint64_t>(count)), change));
  }
  return counts.empty() ? "the same" : fmt::format("{}", fmt::join(counts, ", "));
}

Json side_json(const DiffedModel& model) {
  return {{"file", model.path},
          {"record", text_or_null(model.record)},
          {"graph", model.look.graph},
          {"states_operators", model.states_ops}};
}

}  // namespace

bool is_model_file(const std::string& path) {
  const std::string form = known_form(path);
  return form == "onnx" || form == "qnn-json";
}

Result<ModelDiff> diff_models(const std::string& before, const std::string& after, const OpenOptions& options) {
  ModelDiff diff;
  if (is_model_file(before)) {
    FATCTX_ASSIGN(diff.before, model_in_file(before));
  }
  if (is_model_file(after)) {
    FATCTX_ASSIGN(diff.after, model_in_file(after));
  } else {
    FATCTX_ASSIGN(diff.after, model_in_container(after, before, diff.before.look, options));
  }
  if (diff.before.path.empty()) {
    FATCTX_ASSIGN(diff.before, model_in_container(before, after, diff.after.look, options));
  }
  const OnnxLook& was = diff.before.look;
  const OnnxLook& is = diff.after.look;
  compare_borders("input", was.graphs.front().inputs, is.graphs.front().inputs, diff.differences);
  compare_borders("output", was.graphs.front().outputs, is.graphs.front().outputs, diff.differences);
  if (!diff.before.states_ops || !diff.after.states_ops) return diff;
  compare_nodes(was, is, diff);
  // A converter's JSON does not state how weights are encoded.
  diff.weights_compared = known_form(before) != "qnn-json" && known_form(after) != "qnn-json";
  if (diff.weights_compared) compare_weights(was, is, diff.differences);
  return diff;
}

std::string model_diff_text(const ModelDiff& diff, std::size_t width) {
  Block block;
  block.add("before", side_words(diff.before));
  block.add("after", side_words(diff.after));
  block.add("inputs", counts_words(diff, "input"));
  block.add("outputs", counts_words(diff, "output"));
  const DiffedModel* const silent = !diff.before.states_ops ? &diff.before : &diff.after;
  block.add("operators", silent->states_ops ? counts_words(diff, "operator")
                                            : fmt::format("not compared: {} states none", silent->path));
  if (diff.weights_compared) block.add("weights", counts_words(diff, "weight") + "; types and encodings, not values");
  std::string out = block.text(width);
  for (const ModelDifference& difference : diff.differences) {
    const std::string head = fmt::format("  {:<7}  {:<8}  ", difference.change, difference.kind);
    const std::string behind = escaped(fmt::format("{}{}{}", difference.op.empty() ? "" : "  " + difference.op,
                                                   difference.graph.empty() ? "" : "  in ", difference.graph));
    constexpr std::size_t kLeastName = 24;  // columns
    const std::size_t taken = head.size() + behind.size();
    const std::string name = escaped(difference.name);
    const std::size_t left = width > taken + kLeastName ? width - taken : kLeastName;
    out += fmt::format("{}{}{}\n", head, width == 0 ? name : shortened(name, left), behind);
    for (const ModelFact& fact : difference.facts) {
      const auto shown = [](const std::string& text) { return text.empty() ? std::string("nothing") : text; };
      std::string words = fmt::format("{}: {}", fact.what, shown(fact.before.empty() ? fact.after : fact.before));
      if (difference.change == "changed") {
        words = fmt::format("{}: {} -> {}", fact.what, shown(fact.before), shown(fact.after));
      }
      constexpr std::string_view kIndent = "    ";
      const std::string harmless = escaped(words);
      const auto lines =
          width > kIndent.size() ? broken_lines(harmless, width - kIndent.size()) : std::vector<std::string>{harmless};
      for (const std::string& line : lines) out += std::string(kIndent) + line + "\n";
    }
  }
  return out + (diff.differences.empty() ? "the models are the same, but for values of weights\n" : "they differ\n");
}

Json model_diff_json(const ModelDiff& diff) {
  Json differences = Json::array();
  for (const ModelDifference& difference : diff.differences) {
    Json facts = Json::array();
    for (const ModelFact& fact : difference.facts) {
      facts.push_back(
          {{"what", fact.what}, {"before", text_or_null(fact.before)}, {"after", text_or_null(fact.after)}});
    }
    differences.push_back({{"change", difference.change},
                           {"kind", difference.kind},
                           {"graph", text_or_null(difference.graph)},
                           {"name", difference.name},
                           {"op", text_or_null(difference.op)},
                           {"facts", std::move(facts)}});
  }
  return {{"schema", "fatctx.model_diff/1"},  {"same", diff.differences.empty()},
          {"before", side_json(diff.before)}, {"after", side_json(diff.after)},
          {"same_operators", diff.same_ops},  {"differences", std::move(differences)}};
}

}  // namespace fatctx::tools
