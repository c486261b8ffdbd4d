// Element types of tensor tables and of ONNX: TensorProto::DataType, whose numbers are those of
// ONNXTensorElementDataType too. Knows neither onnx nor ONNX Runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fatctx/record.h"

namespace fatctx::ort {

[[nodiscard]] std::int32_t onnx_type(DType dtype) noexcept;  // 0, undefined, for a number that is not listed
// Nothing for types that no tensor table has: strings, complex numbers, floats of 8 bits and less.
[[nodiscard]] std::optional<DType> dtype_of(std::int32_t onnx_type) noexcept;
[[nodiscard]] std::string_view type_word(std::int32_t onnx_type) noexcept;  // "float32"; "another type"

}  // namespace fatctx::ort
