#include "tools/onnx/onnx_look.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include "fatctx/base/checked.h"
#include "tools/onnx/onnx_file.h"
#include "tools/onnx/onnx_import.h"
#include "tools/onnx/onnx_macs.h"
#include "tools/onnx/onnx_walk.h"
#include "tools/onnx/stored_number.h"

namespace fatctx::tools {

namespace {

constexpr std::size_t kLongestText = 60;       // bytes of an attribute that are shown
constexpr int kMostNumbers = 16;               // of a list of numbers
constexpr std::int64_t kMostScales = 1 << 20;  // of one weight

// An input of an operator that has its scale and its zero point behind it.
struct QuantisedInput {
  std::string_view op;
  int input;
};
constexpr QuantisedInput kQuantisedInputs[] = {
    {"DequantizeLinear", 0},
    {"QLinearConv", 3},
    {"QLinearMatMul", 3},
    {"com.microsoft:QGemm", 3},
};

const onnx::TensorProto* constant_of(const onnx::NodeProto& node) {
  if (node.op_type() != "Constant" || node.output_size() != 1) return nullptr;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "value" && attribute.has_t()) return &attribute.t();
  }
  return nullptr;
}

OnnxShape shape_of_tensor(const onnx::TensorProto& tensor) {
  return {element_type_name(tensor.data_type()), std::vector<std::int64_t>(tensor.dims().begin(), tensor.dims().end())};
}

std::optional<std::uint64_t> size_of(const OnnxShape& shape) {
  const auto elements = element_count(shape);
  const std::uint32_t bits = element_type_bits(shape.dtype);
  if (!elements || bits == 0) return std::nullopt;
  const auto all = checked_mul(*elements, bits);
  if (!all) return std::nullopt;
  return *all / 8 + (*all % 8 != 0 ? 1 : 0);
}

// Adds a number, if it is known. A sum that 64 bits cannot count does not grow.
void add_to(std::uint64_t& sum, std::optional<std::uint64_t> more) {
  sum = checked_add(sum, more.value_or(0)).value_or(sum);
}

template <typename T>
std::vector<double> raw_numbers(const std::string& raw) {
  std::vector<double> numbers(raw.size() / sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<double>(stored_number<T>(raw.data() + i * sizeof(T)));
  }
  return numbers;
}

// Returns the numbers of a small tensor; empty for other types, and for data outside the model.
std::vector<double> numbers_of(const onnx::TensorProto& tensor) {
  const std::string& raw = tensor.raw_data();
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      if (raw.empty()) return {tensor.float_data().begin(), tensor.float_data().end()};
      return raw_numbers<float>(raw);
    case onnx::TensorProto::UINT8:
      if (!raw.empty()) return raw_numbers<std::uint8_t>(raw);
      break;
    case onnx::TensorProto::INT8:
      if (!raw.empty()) return raw_numbers<std::int8_t>(raw);
      break;
    case onnx::TensorProto::UINT16:
      if (!raw.empty()) return raw_numbers<std::uint16_t>(raw);
      break;
    case onnx::TensorProto::INT16:
      if (!raw.empty()) return raw_numbers<std::int16_t>(raw);
      break;
    case onnx::TensorProto::INT32:
      if (!raw.empty()) return raw_numbers<std::int32_t>(raw);
      break;
    default:
      return {};
  }
  return {tensor.int32_data().begin(), tensor.int32_data().end()};
}

// Returns a zero point, which a hostile model may store as any number.
std::int64_t whole_number(double number) {
  constexpr double kMost = 1e15;
  return std::isnan(number) ? 0 : static_cast<std::int64_t>(std::clamp(number, -kMost, kMost));
}

template <typename List>
std::string list_text(const List& list) {
  std::vector<std::string> texts;
  for (int i = 0; i < std::min(list.size(), kMostNumbers); ++i) texts.push_back(fmt::format("{}", list.Get(i)));
  return fmt::format("[{}{}]", fmt::join(texts, ", "),
                     list.size() > kMostNumbers ? fmt::format(", ... {} in all", list.size()) : std::string());
}

std::string quoted(const std::string& text) {
  if (text.size() <= kLongestText) return text;
  return fmt::format("{}... {} bytes", text.substr(0, kLongestText), text.size());
}

std::string tensor_text(const onnx::TensorProto& tensor) {
  const std::vector<double> numbers = tensor.dims_size() == 0 ? numbers_of(tensor) : std::vector<double>();
  if (numbers.size() == 1) return fmt::format("{}", numbers.front());
  return fmt::format("{} [{}]", element_type_name(tensor.data_type()), fmt::join(tensor.dims(), ", "));
}

std::string attribute_text(const onnx::AttributeProto& attribute) {
  switch (attribute.type()) {
    case onnx::AttributeProto::INT:
      return fmt::format("{}", attribute.i());
    case onnx::AttributeProto::FLOAT:
      return fmt::format("{}", attribute.f());
    case onnx::AttributeProto::STRING:
      return quoted(attribute.s());
    case onnx::AttributeProto::INTS:
      return list_text(attribute.ints());
    case onnx::AttributeProto::FLOATS:
      return list_text(attribute.floats());
    case onnx::AttributeProto::STRINGS:
      return fmt::format("{} texts", attribute.strings_size());
    case onnx::AttributeProto::TENSOR:
      return tensor_text(attribute.t());
    case onnx::AttributeProto::GRAPH:
      return fmt::format("graph of {} nodes", attribute.g().node_size());
    default:
      return fmt::format("attribute of type {}", static_cast<int>(attribute.type()));
  }
}

// The tensors of one graph by name, and those of the graphs around it.
struct Names {
  std::map<std::string_view, OnnxShape> shapes;
  std::set<std::string_view> weights;
  std::map<std::string_view, const onnx::TensorProto*> constants;
};

class Look {
 public:
  Look(const onnx::ModelProto& model, const OnnxShapes& inferred) : places_(onnx_graphs(model)) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      names_.push_back(names_of(*places_[i].graph, i < inferred.size() ? &inferred[i] : nullptr));
    }
  }

  [[nodiscard]] std::vector<OnnxGraphLook> graphs() const {
    std::vector<OnnxGraphLook> result;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      OnnxGraphLook look;
      look.name = places_[i].name;
      for (const auto& input : places_[i].graph->input()) {
        if (!names_[i].weights.contains(input.name())) look.inputs.push_back(tensor(i, input.name()));
      }
      for (const auto& output : places_[i].graph->output()) look.outputs.push_back(tensor(i, output.name()));
      add_scales(i, look);
      for (int at = 0; at < places_[i].graph->node_size(); ++at) {
        if (constant_of(places_[i].graph->node(at)) == nullptr) look.nodes.push_back(node(i, at));
      }
      result.push_back(std::move(look));
    }
    return result;
  }

  [[nodiscard]] std::map<std::string, OnnxWeightTotal> parameters() const {
    std::map<std::string, OnnxWeightTotal> totals;
    for (const OnnxGraphPlace& place : places_) {
      for (const onnx::TensorProto* const weight : weights_of(*place.graph)) {
        const OnnxShape shape = shape_of_tensor(*weight);
        OnnxWeightTotal& total = totals[shape.dtype];
        ++total.tensors;
        add_to(total.elements, element_count(shape));
        add_to(total.bytes, size_of(shape));
      }
    }
    return totals;
  }

  [[nodiscard]] static std::vector<const onnx::TensorProto*> weights_of(const onnx::GraphProto& graph) {
    std::vector<const onnx::TensorProto*> weights;
    for (const onnx::TensorProto& tensor : graph.initializer()) weights.push_back(&tensor);
    for (const onnx::NodeProto& node : graph.node()) {
      if (const onnx::TensorProto* constant = constant_of(node)) weights.push_back(constant);
    }
    return weights;
  }

 private:
  static Names names_of(const onnx::GraphProto& graph, const std::map<std::string, OnnxShape>* inferred) {
    Names names;
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      names.shapes.insert_or_assign(tensor.name(), shape_of_tensor(tensor));
      names.weights.insert(tensor.name());
      names.constants.emplace(tensor.name(), &tensor);
    }
    for (const onnx::NodeProto& node : graph.node()) {
      const onnx::TensorProto* constant = constant_of(node);
      if (constant == nullptr) continue;
      names.shapes.insert_or_assign(node.output(0), shape_of_tensor(*constant));
      names.weights.insert(node.output(0));
      names.constants.emplace(node.output(0), constant);
    }
    for (const auto* const list : {&graph.input(), &graph.output(), &graph.value_info()}) {
      for (const auto& value : *list) names.shapes.emplace(value.name(), shape_of(value));
    }
    if (inferred == nullptr) return names;
    for (const auto& [name, shape] : *inferred) {
      OnnxShape& stated = names.shapes[name];
      if (stated.dtype.empty()) stated.dtype = shape.dtype;
      const bool open = !stated.sizes || std::count(stated.sizes->begin(), stated.sizes->end(), -1) != 0;
      if (open && shape.sizes && (!stated.sizes || stated.sizes->size() == shape.sizes->size())) {
        stated.sizes = shape.sizes;
      }
    }
    return names;
  }

  // Looks a tensor up in its graph and in those around it.
  [[nodiscard]] OnnxNodeTensor tensor(std::size_t graph, const std::string& name) const {
    OnnxNodeTensor found;
    found.name = name;
    for (std::size_t at = graph;; at = places_[at].parent) {
      const auto shape = names_[at].shapes.find(name);
      if (shape != names_[at].shapes.end()) {
        found.shape = shape->second;
        found.weight = names_[at].weights.contains(name);
        return found;
      }
      if (at == 0) return found;
    }
  }

  // Gives inputs and outputs the scale of the QuantizeLinear or DequantizeLinear node beside them.
  void add_scales(std::size_t graph, OnnxGraphLook& look) const {
    for (const onnx::NodeProto& node : places_[graph].graph->node()) {
      if (node.op_type() != "QuantizeLinear" && node.op_type() != "DequantizeLinear") continue;
      const std::optional<DescribedScale> found = scale_of(graph, node);
      if (!found) continue;
      for (OnnxNodeTensor& input : look.inputs) {
        if (input.name == node.input(0)) input.scale = found;
      }
      for (OnnxNodeTensor& output : look.outputs) {
        if (output.name == node.output(0)) output.scale = found;
      }
    }
  }

  // Returns the scale of a QuantizeLinear or DequantizeLinear node, if it is one and the model stores it.
  [[nodiscard]] std::optional<DescribedScale> scale_of(std::size_t graph, const onnx::NodeProto& node) const {
    if (node.input_size() < 2 || node.output_size() != 1) return std::nullopt;
    const auto scale = numbers(graph, node.input(1));
    const auto zero_point = node.input_size() > 2 ? numbers(graph, node.input(2)) : std::vector<double>{0};
    if (scale.size() != 1 || zero_point.size() > 1) return std::nullopt;
    return DescribedScale{scale.front(), zero_point.empty() ? 0 : -whole_number(zero_point.front())};
  }

  [[nodiscard]] std::vector<double> numbers(std::size_t graph, const std::string& name) const {
    const auto found = names_[graph].constants.find(name);
    return found == names_[graph].constants.end() ? std::vector<double>() : numbers_of(*found->second);
  }

  [[nodiscard]] OnnxNode node(std::size_t graph, int at) const {
    const onnx::NodeProto& from = places_[graph].graph->node(at);
    OnnxNode node;
    node.index = static_cast<std::uint64_t>(at);
    node.name = from.name();
    node.op = operator_name(from.domain(), from.op_type());
    for (const std::string& name : from.input()) node.inputs.push_back(tensor(graph, name));
    for (const std::string& name : from.output()) node.outputs.push_back(tensor(graph, name));
    for (const onnx::AttributeProto& attribute : from.attribute()) {
      node.parameters.emplace_back(attribute.name(), attribute_text(attribute));
    }
    if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") node.scale = scale_of(graph, from);
    node.multiplies = multiplies(node.op);
    node.macs = onnx_macs(node);
    return node;
  }

  std::vector<OnnxGraphPlace> places_;
  std::vector<Names> names_;
};

void collect_uses(const onnx::NodeProto& node, std::set<std::string>& uses) {
  uses.insert(node.input().begin(), node.input().end());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) {
      for (const onnx::NodeProto& inner : attribute.g().node()) collect_uses(inner, uses);
    }
    for (const onnx::GraphProto& graph : attribute.graphs()) {
      for (const onnx::NodeProto& inner : graph.node()) collect_uses(inner, uses);
    }
  }
}

OnnxActivations activations_of(const onnx::GraphProto& graph, const OnnxGraphLook& look) {
  OnnxActivations result;
  std::map<std::string, std::uint64_t> last_use;
  for (int at = 0; at < graph.node_size(); ++at) {
    std::set<std::string> uses;
    collect_uses(graph.node(at), uses);
    for (const std::string& name : uses) last_use[name] = static_cast<std::uint64_t>(at);
  }
  for (const auto& output : graph.output()) last_use[output.name()] = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t live = 0;
  for (const OnnxNodeTensor& input : look.inputs) {  // the caller's, who keeps them
    const auto size = size_of(input.shape);
    if (!size) ++result.unknown;
    add_to(live, size);
  }
  std::map<std::uint64_t, std::uint64_t> freed_after;  // bytes by node
  for (const OnnxNode& node : look.nodes) {
    for (const OnnxNodeTensor& output : node.outputs) {
      if (output.name.empty()) continue;
      const auto size = size_of(output.shape);
      if (!size) ++result.unknown;
      add_to(live, size);
      const auto used = last_use.find(output.name);
      add_to(freed_after[used == last_use.end() ? node.index : used->second], size);
    }
    if (live > result.peak_bytes) {
      result.peak_bytes = live;
      result.peak_node = node.index;
    }
    if (const auto freed = freed_after.find(node.index); freed != freed_after.end()) {
      live -= std::min(live, freed->second);
    }
  }
  return result;
}

// Gives a weight the scale and the zero point that are behind it among the inputs of a node.
void add_encoding(const onnx::NodeProto& node, int input,
                  const std::map<std::string_view, const onnx::TensorProto*>& constants, OnnxWeight& weight) {
  const auto number_list = [&](int at) {
    const auto found = at < node.input_size() ? constants.find(node.input(at)) : constants.end();
    return found == constants.end() ? std::vector<double>() : numbers_of(*found->second);
  };
  weight.scales = number_list(input + 1);
  if (weight.scales.empty() || static_cast<std::int64_t>(weight.scales.size()) > kMostScales) {
    weight.scales.clear();
    return;
  }
  for (const double number : number_list(input + 2)) {
    weight.zero_points.push_back(whole_number(number));
  }
  if (weight.zero_points.size() != weight.scales.size()) weight.zero_points.clear();
  if (weight.scales.size() == 1) return;
  weight.axis = node.op_type() == "DequantizeLinear" ? 1 : 0;  // QLinearConv: the output channels come first
  if (node.op_type() != "DequantizeLinear" && node.op_type() != "QLinearConv") weight.axis = 1;  // columns
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "axis") weight.axis = attribute.i();
    if (attribute.name() == "block_size") weight.block_size = attribute.i();
  }
  if (*weight.axis < 0 && weight.shape.sizes) *weight.axis += static_cast<std::int64_t>(weight.shape.sizes->size());
}

std::vector<OnnxWeight> weights_of(const onnx::GraphProto& graph) {
  std::vector<OnnxWeight> weights;
  std::map<std::string, std::size_t> by_name;
  std::map<std::string_view, const onnx::TensorProto*> constants;
  const auto add = [&](const onnx::TensorProto& tensor, const std::string& name) {
    OnnxWeight weight;
    weight.name = name;
    weight.shape = shape_of_tensor(tensor);
    weight.size_bytes = size_of(weight.shape);
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      for (const auto& entry : tensor.external_data()) {
        if (entry.key() == "location") weight.location = entry.value();
        if (entry.key() == "offset") weight.offset = std::strtoull(entry.value().c_str(), nullptr, 10);
      }
    }
    constants.emplace(name, &tensor);
    by_name.emplace(name, weights.size());
    weights.push_back(std::move(weight));
  };
  for (const onnx::TensorProto& tensor : graph.initializer()) add(tensor, tensor.name());
  for (const onnx::NodeProto& node : graph.node()) {
    if (const onnx::TensorProto* constant = constant_of(node)) add(*constant, node.output(0));
  }
  for (const onnx::NodeProto& node : graph.node()) {
    const std::string op = operator_name(node.domain(), node.op_type());
    for (const QuantisedInput& row : kQuantisedInputs) {
      if (row.op != op || node.input_size() <= row.input + 1) continue;
      const auto found = by_name.find(node.input(row.input));
      if (found != by_name.end()) add_encoding(node, row.input, constants, weights[found->second]);
    }
  }
  return weights;
}

}  // namespace

Result<OnnxLook> look_at_onnx(const OnnxSource& source, const OnnxShapes& inferred) {
  FATCTX_ASSIGN(const onnx::ModelProto model, load_onnx_source(source));
  OnnxLook look;
  look.ir_version = model.ir_version();
  look.producer = model.producer_name();
  if (!model.producer_version().empty()) look.producer += (look.producer.empty() ? "" : " ") + model.producer_version();
  look.domain = model.domain();
  look.graph = model.graph().name();
  for (const auto& opset : model.opset_import()) {
    look.opsets.emplace_back(opset.domain().empty() ? "ai.onnx" : opset.domain(), opset.version());
  }
  for (const auto& entry : model.metadata_props()) look.metadata.emplace_back(entry.key(), entry.value());
  const Look graphs(model, inferred);
  look.graphs = graphs.graphs();
  look.parameters = graphs.parameters();
  look.weights = weights_of(model.graph());
  for (const OnnxWeight& weight : look.weights) {
    add_to(weight.location.empty() ? look.bytes_inside : look.bytes_outside, weight.size_bytes);
  }
  look.activations = activations_of(model.graph(), look.graphs.front());
  return look;
}

}  // namespace fatctx::tools
