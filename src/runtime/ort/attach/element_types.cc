#include "runtime/ort/attach/element_types.h"

#include <algorithm>
#include <iterator>

namespace fatctx::ort {

namespace {

struct Row {
  DType dtype;
  std::int32_t onnx;  // TensorProto::DataType
};
constexpr Row kRows[] = {
    {DType::kF32, 1},  {DType::kU8, 2},   {DType::kI8, 3},    {DType::kU16, 4},  {DType::kI16, 5},
    {DType::kI32, 6},  {DType::kI64, 7},  {DType::kBool, 9},  {DType::kF16, 10}, {DType::kF64, 11},
    {DType::kU32, 12}, {DType::kU64, 13}, {DType::kBF16, 16}, {DType::kU4, 21},  {DType::kI4, 22},
};

}  // namespace

std::int32_t onnx_type(DType dtype) noexcept {
  const auto* row = std::ranges::find(kRows, dtype, &Row::dtype);
  return row == std::end(kRows) ? 0 : row->onnx;
}

std::optional<DType> dtype_of(std::int32_t onnx_type) noexcept {
  const auto* row = std::ranges::find(kRows, onnx_type, &Row::onnx);
  if (row == std::end(kRows)) return std::nullopt;
  return row->dtype;
}

std::string_view type_word(std::int32_t onnx_type) noexcept {
  const auto dtype = dtype_of(onnx_type);
  return dtype ? dtype_name(*dtype) : "another type";
}

}  // namespace fatctx::ort
