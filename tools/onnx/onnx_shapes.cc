#include "tools/onnx/onnx_shapes.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/base/nearest.h"
#include "tools/onnx/onnx_file.h"

namespace fatctx::tools {

namespace {

// Older versions of ONNX list every initializer among the inputs too.
constexpr std::int64_t kFirstIrWithInnerInitializers = 4;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  sizes.reserve(shape.size());
  for (const std::int64_t size : shape) sizes.push_back(size < 0 ? "?" : std::to_string(size));
  return fmt::format("{}", fmt::join(sizes, ","));
}

bool is_defined_by_onnx(const onnx::NodeProto& node) {
  return node.domain().empty() || node.domain().starts_with("ai.onnx");
}

// The value of each size that has a name, where all given shapes agree on it.
using NamedSizes = std::map<std::string, std::int64_t>;

NamedSizes named_sizes(const onnx::GraphProto& graph, const InputShapes& shapes) {
  NamedSizes values;
  std::set<std::string> contradicted = {"", "?"};  // "?" is how some exporters write a size without a name
  for (const InputShape& shape : shapes) {
    for (const auto& input : graph.input()) {
      if (input.name() != shape.name) continue;
      const auto& dims = input.type().tensor_type().shape().dim();
      for (int i = 0; i < dims.size() && static_cast<std::size_t>(i) < shape.sizes.size(); ++i) {
        const std::int64_t size = shape.sizes[static_cast<std::size_t>(i)];
        const auto [known, first] = values.emplace(dims.Get(i).dim_param(), size);
        if (!first && known->second != size) contradicted.insert(known->first);
      }
    }
  }
  for (const std::string& name : contradicted) values.erase(name);
  return values;
}

void fill_in(const NamedSizes& values, onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return;
  for (auto& dim : *value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
    const auto found = values.find(dim.dim_param());
    if (found != values.end()) dim.set_dim_value(found->second);
  }
}

void set_shape(onnx::ValueInfoProto& input, const std::vector<std::int64_t>& sizes) {
  auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.clear_dim();
  for (const std::int64_t size : sizes) shape.add_dim()->set_dim_value(size);
}

void forget_inner_shapes(const NamedSizes& values, onnx::GraphProto& graph) {
  std::set<std::string> inferred;  // by every reader
  for (const onnx::NodeProto& node : graph.node()) {
    if (is_defined_by_onnx(node)) inferred.insert(node.output().begin(), node.output().end());
  }
  for (auto& value : *graph.mutable_value_info()) {
    if (inferred.contains(value.name()) && value.type().has_tensor_type()) {
      value.mutable_type()->mutable_tensor_type()->clear_shape();
    } else {
      fill_in(values, value);
    }
  }
}

Status check_input(const DescribedTensor& input, const InputShape& wanted) {
  const auto text = [&] { return fmt::format("{}={}", wanted.name, shape_text(wanted.sizes)); };
  if (input.shape.size() != wanted.sizes.size()) {
    return invalid_argument(fmt::format("{}: this input has {} sizes ({}), and {} are given", text(),
                                        input.shape.size(), shape_text(input.shape), wanted.sizes.size()));
  }
  for (std::size_t i = 0; i < wanted.sizes.size(); ++i) {
    if (input.shape[i] < 0 || input.shape[i] == wanted.sizes[i]) continue;
    return invalid_argument(fmt::format("{}: size {} is fixed in the model, whose shape is {}; write {} there", text(),
                                        i + 1, shape_text(input.shape), input.shape[i]));
  }
  return Done{};
}

}  // namespace

Status check_input_shapes(const DescribedGraph& graph, const InputShapes& shapes) {
  for (const InputShape& wanted : shapes) {
    const auto found = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                    [&](const DescribedTensor& input) { return input.name == wanted.name; });
    if (found != graph.inputs.end()) {
      FATCTX_TRY(check_input(*found, wanted));
      continue;
    }
    std::vector<std::string> names;
    for (const DescribedTensor& input : graph.inputs) names.push_back(input.name);
    const auto near = nearest(wanted.name, names);
    return invalid_argument(fmt::format("the model has no input \"{}\"; {}inputs: {}", wanted.name,
                                        near ? fmt::format("did you mean {}? ", *near) : std::string(),
                                        fmt::join(names, ", ")));
  }
  return Done{};
}

Status write_onnx_with_shapes(const std::string& model_path, const InputShapes& shapes, const std::string& output) {
  FATCTX_ASSIGN(onnx::ModelProto model, load_onnx(model_path));
  onnx::GraphProto& graph = *model.mutable_graph();
  const NamedSizes values = named_sizes(graph, shapes);
  forget_inner_shapes(values, graph);
  for (auto& value : *graph.mutable_input()) fill_in(values, value);
  for (auto& value : *graph.mutable_output()) fill_in(values, value);
  for (const InputShape& shape : shapes) {
    for (auto& input : *graph.mutable_input()) {
      if (input.name() == shape.name) set_shape(input, shape.sizes);
    }
  }
  return save_onnx(model, output);
}

Status write_onnx_with_named_constants(const std::string& model_path, std::int64_t min_elements,
                                       const std::string& output) {
  FATCTX_ASSIGN(onnx::ModelProto model, load_onnx(model_path));
  constants_become_initializers(*model.mutable_graph(), min_elements);
  model.set_ir_version(std::max<std::int64_t>(model.ir_version(), kFirstIrWithInnerInitializers));
  return save_onnx(model, output);
}

}  // namespace fatctx::tools
