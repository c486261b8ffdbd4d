#include "tools/onnx/onnx_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "fatctx/base/checked.h"

namespace fatctx::tools {

namespace {

constexpr std::uint64_t kMaxModelSize = (std::uint64_t{1} << 31) - 1;  // a protobuf message cannot be larger

// Returns false for a model without a graph, which protobuf reads from many files that are not models.
bool looks_like_a_model(const onnx::ModelProto& model) {
  return model.has_graph() && model.ir_version() > 0 &&
         (model.graph().node_size() > 0 || model.graph().output_size() > 0);
}

// Returns as many as 64 bits can count.
std::int64_t element_count(const onnx::TensorProto& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t dim : tensor.dims()) {
    const auto product = checked_mul(count, static_cast<std::uint64_t>(std::max<std::int64_t>(dim, 0)));
    count = product.value_or(std::numeric_limits<std::int64_t>::max());
  }
  return static_cast<std::int64_t>(std::min<std::uint64_t>(count, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

Result<onnx::ModelProto> load_onnx(const std::string& path) {
  std::error_code status;
  const std::filesystem::file_status kind = std::filesystem::status(path, status);
  if (!std::filesystem::exists(kind)) return Error{ErrorCode::kNotFound, fmt::format("{}: not there", path)};
  if (!std::filesystem::is_regular_file(kind)) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  }
  const std::uint64_t size = std::filesystem::file_size(path, status);
  if (!status && size > kMaxModelSize) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("{}: {} bytes; an ONNX file has at most {}; keep its weights as external data", path, size,
                             kMaxModelSize)};
  }
  std::ifstream in(path, std::ios::binary);
  onnx::ModelProto model;
  if (!in || !model.ParseFromIstream(&in) || !looks_like_a_model(model)) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: not an ONNX model", path)};
  }
  return model;
}

Result<onnx::ModelProto> parse_onnx(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() > kMaxModelSize) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("{}: {} bytes; an ONNX model has at most {}", name, bytes.size(), kMaxModelSize)};
  }
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !looks_like_a_model(model)) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: not an ONNX model", name)};
  }
  return model;
}

Status save_onnx(const onnx::ModelProto& model, const std::string& path) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (out && model.SerializeToOstream(&out) && out.flush()) return Done{};
  return Error{ErrorCode::kIo, fmt::format("{}: cannot be written", path)};
}

std::string operator_name(const std::string& domain, const std::string& type) {
  return domain.empty() || domain == "ai.onnx" ? type : domain + ":" + type;
}

void constants_become_initializers(onnx::GraphProto& graph, std::int64_t min_elements) {
  std::set<std::string> outputs;
  for (const auto& output : graph.output()) outputs.insert(output.name());
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    const bool constant = node.op_type() == "Constant" && (node.domain().empty() || node.domain() == "ai.onnx") &&
                          node.attribute_size() == 1 && node.attribute(0).name() == "value" &&
                          node.attribute(0).has_t() && node.output_size() == 1 && !outputs.contains(node.output(0)) &&
                          element_count(node.attribute(0).t()) >= min_elements;
    if (!constant) {
      *kept.Add() = std::move(node);
      continue;
    }
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor = std::move(*node.mutable_attribute(0)->mutable_t());
    tensor.set_name(node.output(0));
  }
  graph.mutable_node()->Swap(&kept);
}

}  // namespace fatctx::tools
