#include "tools/onnx_import.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

namespace fatctx::tools {

namespace {

constexpr std::uint64_t kMaxModelSize = (std::uint64_t{1} << 31) - 1;  // a protobuf message cannot be larger
constexpr std::size_t kMaxRank = 8;

struct ElementType {
  int onnx;  // TensorProto::DataType; newer numbers than the installed header's are listed by value
  std::optional<DType> dtype;
  std::string_view name;
};
const ElementType kElementTypes[] = {
    {1, DType::kF32, ""},
    {2, DType::kU8, ""},
    {3, DType::kI8, ""},
    {4, DType::kU16, ""},
    {5, DType::kI16, ""},
    {6, DType::kI32, ""},
    {7, DType::kI64, ""},
    {8, std::nullopt, "string"},
    {9, DType::kBool, ""},
    {10, DType::kF16, ""},
    {11, DType::kF64, ""},
    {12, DType::kU32, ""},
    {13, DType::kU64, ""},
    {14, std::nullopt, "complex64"},
    {15, std::nullopt, "complex128"},
    {16, DType::kBF16, ""},
    {17, std::nullopt, "float8e4m3fn"},
    {18, std::nullopt, "float8e4m3fnuz"},
    {19, std::nullopt, "float8e5m2"},
    {20, std::nullopt, "float8e5m2fnuz"},
    {21, DType::kU4, ""},
    {22, DType::kI4, ""},
    {23, std::nullopt, "float4e2m1"},
};

const ElementType* element_type(int onnx) {
  const auto* found = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                   [&](const auto& row) { return row.onnx == onnx; });
  return found == std::end(kElementTypes) ? nullptr : found;
}

std::string element_type_name(int onnx) {
  const ElementType* type = element_type(onnx);
  if (type == nullptr) return fmt::format("onnx type {}", onnx);
  return std::string(type->dtype ? dtype_name(*type->dtype) : type->name);
}

DescribedTensor describe(const onnx::ValueInfoProto& value) {
  DescribedTensor tensor;
  tensor.name = value.name();
  if (!value.type().has_tensor_type()) {
    tensor.dtype = "not a tensor";
    return tensor;
  }
  const auto& type = value.type().tensor_type();
  tensor.dtype = element_type_name(type.elem_type());
  for (const auto& dim : type.shape().dim()) {
    tensor.shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  }
  return tensor;
}

Result<OnnxInitializer> initializer_of(const onnx::TensorProto& tensor) {
  OnnxInitializer initializer;
  initializer.name = tensor.name();
  const ElementType* type = element_type(tensor.data_type());
  if (type != nullptr) initializer.dtype = type->dtype;
  for (const std::int64_t dim : tensor.dims()) {
    if (dim < 0) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("initializer \"{}\" has the negative dimension {}", tensor.name(), dim)};
    }
    initializer.shape.push_back(static_cast<std::uint64_t>(dim));
  }
  return initializer;
}

// A model without a graph is what protobuf makes of many a file that is none.
bool looks_like_a_model(const onnx::ModelProto& model) {
  return model.has_graph() && model.ir_version() > 0 &&
         (model.graph().node_size() > 0 || model.graph().output_size() > 0);
}

}  // namespace

Result<OnnxModel> read_onnx(const std::string& path) {
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

  OnnxModel result;
  std::set<std::string> initializer_names;
  std::set<std::string> external;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    auto initializer = initializer_of(tensor);
    if (!initializer.ok()) return in_context(std::move(initializer).error(), path);
    initializer_names.insert(tensor.name());
    result.initializers.push_back(std::move(initializer).value());
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") external.insert(entry.value());
    }
  }
  result.external_files.assign(external.begin(), external.end());
  result.graph.name = model.graph().name();
  for (const auto& input : model.graph().input()) {
    if (!initializer_names.contains(input.name())) result.graph.inputs.push_back(describe(input));
  }
  for (const auto& output : model.graph().output()) result.graph.outputs.push_back(describe(output));
  return result;
}

Result<std::uint64_t> give_shapes(const OnnxModel& model, const std::string& model_name,
                                  std::vector<PackTensor>& tensors) {
  std::map<std::string_view, const OnnxInitializer*> by_name;
  for (const OnnxInitializer& initializer : model.initializers) by_name.emplace(initializer.name, &initializer);
  std::uint64_t unshaped = 0;
  for (PackTensor& tensor : tensors) {
    const auto found = by_name.find(tensor.name);
    if (found == by_name.end() || !found->second->dtype || found->second->shape.size() > kMaxRank) {
      ++unshaped;
      continue;
    }
    const OnnxInitializer& initializer = *found->second;
    const auto size = tensor_size_bytes(*initializer.dtype, initializer.shape);
    if (size != tensor.size_bytes) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("tensor \"{}\" has {} bytes in the archive, but {} [{}] of {} takes {}; both must come "
                               "from the same model",
                               tensor.name, tensor.size_bytes, dtype_name(*initializer.dtype),
                               fmt::join(initializer.shape, ", "), model_name,
                               size ? fmt::format("{} bytes", *size) : std::string("more than 64 bits can count"))};
    }
    tensor.dtype = *initializer.dtype;
    tensor.shape = initializer.shape;
  }
  return unshaped;
}

}  // namespace fatctx::tools
