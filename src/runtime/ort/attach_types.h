// Element types of tensor tables and of ONNX, whose numbers are those of ONNXTensorElementDataType too.
#pragma once

#include <cstdint>
#include <optional>

#include "fatctx/record.h"

namespace fatctx::ort {

[[nodiscard]] std::int32_t onnx_type(DType dtype) noexcept;  // 0, undefined, for a number that is not listed
// Nothing for types that no tensor table has: strings, complex numbers, floats of 8 bits and less.
[[nodiscard]] std::optional<DType> dtype_of_onnx(std::int32_t type) noexcept;

}  // namespace fatctx::ort
