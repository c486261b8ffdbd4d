// Element types of tensor tables and of ONNX: TensorProto::DataType and ONNXTensorElementDataType use the same numbers.
// Depends neither on onnx nor on ONNX Runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fatctx/record.h"

namespace fatctx::ort {

[[nodiscard]] std::int32_t onnx_type(DType dtype) noexcept;  // 0 (undefined) for a type that is not listed
// Returns nothing for types that a tensor table cannot express: strings, complex numbers, floats of 8 bits and less.
[[nodiscard]] std::optional<DType> dtype_of(std::int32_t onnx_type) noexcept;
[[nodiscard]] std::string_view type_word(std::int32_t onnx_type) noexcept;  // "float32"; "another type" if not listed

}  // namespace fatctx::ort
