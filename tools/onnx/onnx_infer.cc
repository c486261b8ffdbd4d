// Infers shapes with the library of ONNX. Its code for single operators trusts the model: damaged ones end the process
// (docs/decisions/0057), and `fatctx info` therefore runs this in a process of its own.
#include <algorithm>
#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include "tools/onnx/onnx_file.h"
#include "tools/onnx/onnx_look.h"
#include "tools/onnx/onnx_walk.h"

namespace fatctx::tools {

namespace {

// The operators whose shapes follow another rule since an operator set. A library that does not know this set would
// infer by the older rule, without an error.
struct NewerRule {
  std::string_view op;
  std::int64_t since;
};
constexpr NewerRule kNewerRules[] = {
    {"LpPool", 18},          {"Pad", 18},        {"ReduceL1", 18},  {"ReduceL2", 18},    {"ReduceLogSum", 18},
    {"ReduceMax", 18},       {"ReduceMean", 18}, {"ReduceMin", 18}, {"ReduceProd", 18},  {"ReduceLogSumExp", 18},
    {"ReduceSumSquare", 18}, {"Resize", 18},     {"Split", 18},     {"AveragePool", 19}, {"DFT", 20},
    {"GridSample", 20},
};

constexpr std::string_view kOnnxDomain = "ai.onnx";
constexpr std::string_view kUnknownDomain = "fatctx.not_inferred";  // of no schema
constexpr std::size_t kLargestShapeData = 1024;                     // elements; shapes and axes are smaller

std::int64_t opset_of(const onnx::ModelProto& model) {
  std::int64_t version = 1;
  for (const auto& opset : model.opset_import()) {
    if (opset.domain().empty() || opset.domain() == kOnnxDomain) version = std::max(version, opset.version());
  }
  return version;
}

void leave_newer_rules_out(onnx::GraphProto& graph, std::int64_t opset) {
  const std::int64_t known = newest_inferred_opset();
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    const bool own = node.domain().empty() || node.domain() == kOnnxDomain;
    const bool newer = own && std::any_of(std::begin(kNewerRules), std::end(kNewerRules), [&](const NewerRule& rule) {
                         return rule.op == node.op_type() && rule.since > known && rule.since <= opset;
                       });
    if (newer) node.set_domain(std::string(kUnknownDomain));
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) leave_newer_rules_out(*attribute.mutable_g(), opset);
      for (onnx::GraphProto& inner : *attribute.mutable_graphs()) leave_newer_rules_out(inner, opset);
    }
  }
}

// Drops the bytes of large weights, which no shape depends on.
void drop_large_data(onnx::GraphProto& graph) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (tensor.raw_data().size() > kLargestShapeData * sizeof(std::int64_t)) tensor.clear_raw_data();
  }
}

}  // namespace

std::int64_t newest_inferred_opset() {
  const auto& versions = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto found = versions.find("");
  return found == versions.end() ? 0 : found->second.second;
}

Result<OnnxShapes> infer_onnx_shapes(const OnnxSource& source) {
  FATCTX_ASSIGN(onnx::ModelProto model, load_onnx_source(source));
  drop_large_data(*model.mutable_graph());
  leave_newer_rules_out(*model.mutable_graph(), opset_of(model));
  try {
    const onnx::ShapeInferenceOptions leniently(false, 0, true);  // types unchecked, errors skipped, data propagated
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), leniently);
  } catch (const std::exception& problem) {
    return Error{ErrorCode::kUnsupported, fmt::format("{}: ONNX infers no shapes: {}", source.path, problem.what())};
  }
  OnnxShapes shapes;
  for (const OnnxGraphPlace& place : onnx_graphs(model)) {
    auto& known = shapes.emplace_back();
    for (const auto& value : place.graph->value_info()) known.emplace(value.name(), shape_of(value));
    for (const auto& value : place.graph->output()) known.emplace(value.name(), shape_of(value));
  }
  return shapes;
}

}  // namespace fatctx::tools
