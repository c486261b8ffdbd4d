#include "tools/onnx/onnx_whole.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tools/onnx/ep_context_facts.h"
#include "tools/onnx/onnx_file.h"
#include "tools/onnx/onnx_wrapper.h"

namespace fatctx::tools {

namespace {

// Attributes of EPContext nodes that differ between chips, or that are written anew.
constexpr std::array<std::string_view, 5> kOfOneBinary = {"ep_cache_context", "embed_mode", "ep_sdk_version",
                                                          "max_size", "is_multi_soc_ep_context"};

bool is_context(const onnx::NodeProto& node) { return node.op_type() == "EPContext"; }

bool is_main(const onnx::NodeProto& node) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "main_context") return attribute.i() != 0;
  }
  return true;
}

// The names of a graph's values, sorted by their producers.
struct Makers {
  std::set<std::string_view> given;     // inputs and initializers of the model
  std::set<std::string_view> computed;  // outputs of EPContext nodes
  std::set<std::string_view> outputs;   // outputs of the model
};

Makers makers_of(const onnx::GraphProto& graph) {
  Makers makers;
  for (const auto& input : graph.input()) makers.given.insert(input.name());
  for (const auto& tensor : graph.initializer()) makers.given.insert(tensor.name());
  for (const auto& output : graph.output()) makers.outputs.insert(output.name());
  for (const onnx::NodeProto& node : graph.node()) {
    if (is_context(node)) makers.computed.insert(node.output().begin(), node.output().end());
  }
  return makers;
}

// Returns true for a conversion between float32 outside of the model and an EPContext node whose scale the record of
// the binary keeps.
bool made_anew(const onnx::NodeProto& node, const Makers& makers, const std::set<std::string>& scaled) {
  if (node.input_size() == 0 || node.output_size() != 1) return false;
  const std::string& from = node.input(0);
  const std::string& to = node.output(0);
  if (node.op_type() == "QuantizeLinear") {
    return makers.given.contains(from) && scaled.contains(to) && !makers.outputs.contains(to);
  }
  return node.op_type() == "DequantizeLinear" && makers.computed.contains(from) && scaled.contains(from) &&
         makers.outputs.contains(to) && !makers.outputs.contains(from);
}

// Returns the model's names of the tensors of EPContext nodes whose scale read_onnx() found. It gives them by their
// names in the binary, so they are looked for by the conversion itself.
std::set<std::string> scaled_tensors(const onnx::GraphProto& graph, const OnnxModel& model) {
  std::set<std::string> scaled;
  std::size_t at = 0;
  for (const onnx::NodeProto& node : graph.node()) {
    if (!is_context(node) || at >= model.ep_contexts.size()) continue;
    const OnnxEpContext& context = model.ep_contexts[at++];
    const auto add = [&](const auto& names, const std::vector<DescribedTensor>& tensors) {
      for (int i = 0; i < names.size() && static_cast<std::size_t>(i) < tensors.size(); ++i) {
        if (context.quantised.contains(tensors[static_cast<std::size_t>(i)].name)) scaled.insert(names.Get(i));
      }
    };
    add(node.input(), context.inputs);
    add(node.output(), context.outputs);
  }
  return scaled;
}

// Returns true if `fatctx wrap` can make the model from the graphs of its binary.
bool made_of_graphs(const onnx::GraphProto& graph, const OnnxModel& model) {
  const Makers makers = makers_of(graph);
  const std::set<std::string> scaled = scaled_tensors(graph, model);
  for (const onnx::NodeProto& node : graph.node()) {
    if (!is_context(node)) {
      if (!made_anew(node, makers, scaled)) return false;
      continue;
    }
    for (const std::string& input : node.input()) {
      if (makers.computed.contains(input)) return false;
    }
  }
  return std::none_of(graph.output().begin(), graph.output().end(),
                      [&](const auto& output) { return makers.given.contains(output.name()); });
}

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const char* name, int type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(static_cast<onnx::AttributeProto::AttributeType>(type));
  return attribute;
}

void set_number(onnx::NodeProto& node, const char* name, std::int64_t value) {
  add_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void set_text(onnx::NodeProto& node, const char* name, std::string value) {
  add_attribute(node, name, onnx::AttributeProto::STRING).set_s(std::move(value));
}

template <typename Gone>
void remove_attributes(onnx::NodeProto& node, const Gone& gone) {
  auto& attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i) {
    if (gone(attributes.Get(i).name())) attributes.DeleteSubrange(i, 1);
  }
}

void forget_the_binary(onnx::ModelProto& model) {
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (!is_context(node)) continue;
    remove_attributes(node, [](const std::string& name) {
      return std::find(kOfOneBinary.begin(), kOfOneBinary.end(), name) != kOfOneBinary.end();
    });
  }
  auto& notes = *model.mutable_metadata_props();
  for (int i = notes.size() - 1; i >= 0; --i) {
    if (notes.Get(i).key().starts_with(kCompatibilityPrefix)) notes.DeleteSubrange(i, 1);
  }
}

void name_the_binary(const NodeBinary& binary, onnx::NodeProto& node) {
  const bool main = is_main(node);
  if (!binary.source.empty()) {
    remove_attributes(node, [](const std::string& name) { return name == "source"; });
    set_text(node, "source", binary.source);
  }
  set_number(node, "embed_mode", binary.cache.empty() ? 1 : 0);
  if (main) set_text(node, "ep_cache_context", binary.cache.empty() ? binary.payload : binary.cache);
  if (!binary.sdk_version.empty()) set_text(node, "ep_sdk_version", binary.sdk_version);
  if (main && binary.max_size != 0) set_number(node, "max_size", binary.max_size);
  if (binary.multi_soc) set_number(node, "is_multi_soc_ep_context", 1);
}

}  // namespace

Result<std::optional<KeptModel>> kept_form(const std::string& path, const OnnxModel& model) {
  FATCTX_ASSIGN(onnx::ModelProto proto, load_onnx(path));
  if (made_of_graphs(proto.graph(), model)) return std::optional<KeptModel>();
  KeptModel kept;
  std::set<std::string> operators;
  for (const onnx::NodeProto& node : proto.graph().node()) {
    ++(is_context(node) ? kept.partitions : kept.other_nodes);
    if (!is_context(node)) operators.insert(operator_name(node.domain(), node.op_type()));
  }
  kept.operators.assign(operators.begin(), operators.end());
  forget_the_binary(proto);
  if (!proto.SerializeToString(&kept.bytes)) {
    return Error{ErrorCode::kInternal, fmt::format("{}: the ONNX model cannot be encoded", path)};
  }
  return std::optional<KeptModel>(std::move(kept));
}

Result<std::optional<KeptModel>> kept_model(const std::string& path, const OnnxModel& model) {
  FATCTX_ASSIGN(std::optional<KeptModel> kept, kept_form(path, model));
  if (!kept) return kept;
  if (!model.external_files.empty()) {
    return invalid_argument(
        fmt::format("{}: has nodes that stay on the CPU, and the weights of such nodes are in {}; compile without "
                    "ep.context_model_external_initializers_file_name, so that the model can be kept as one record",
                    path, model.external_files.front()));
  }
  return kept;
}

Result<std::string> whole_model_bytes(std::string_view kept, NodeBinary binary) {
  onnx::ModelProto model;
  FATCTX_TRY(check_embeddable(kept.size()));
  FATCTX_TRY(check_embeddable(binary.payload.size()));
  if (!model.ParseFromArray(kept.data(), static_cast<int>(kept.size())) || !model.has_graph()) {
    return Error{ErrorCode::kMalformed, "is not an ONNX model; pack it again with --ep-context"};
  }
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (is_context(node)) name_the_binary(binary, node);
  }
  for (const auto& [key, value] : binary.metadata) {
    auto& note = *model.add_metadata_props();
    note.set_key(key);
    note.set_value(value);
  }
  FATCTX_TRY(check_embeddable(model.ByteSizeLong()));
  std::string bytes;
  if (!model.SerializeToString(&bytes)) return Error{ErrorCode::kInternal, "the ONNX model cannot be encoded"};
  return bytes;
}

}  // namespace fatctx::tools
