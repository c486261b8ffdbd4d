#include "runtime/ort/element_types.h"

namespace fatctx::ort {

std::optional<DType> dtype_of(ONNXTensorElementDataType type) noexcept {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return DType::kF32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return DType::kF64;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return DType::kF16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return DType::kBF16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return DType::kI8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return DType::kI16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return DType::kI32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return DType::kI64;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return DType::kU8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return DType::kU16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return DType::kU32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return DType::kU64;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
      return DType::kBool;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4:
      return DType::kI4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4:
      return DType::kU4;
    default:
      return std::nullopt;
  }
}

std::string_view type_word(ONNXTensorElementDataType type) noexcept {
  const auto dtype = dtype_of(type);
  return dtype ? dtype_name(*dtype) : "another type";
}

}  // namespace fatctx::ort
