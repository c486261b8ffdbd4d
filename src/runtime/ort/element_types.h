// Element types of ONNX Runtime in the words of this project.
#pragma once

#include <optional>
#include <string_view>

#include "fatctx/record.h"
#include "runtime/ort/api.h"

namespace fatctx::ort {

// Nothing for a type that tensor tables do not have: strings, complex numbers, floats of 8 bits.
[[nodiscard]] std::optional<DType> dtype_of(ONNXTensorElementDataType type) noexcept;
[[nodiscard]] std::string_view type_word(ONNXTensorElementDataType type) noexcept;  // "float32"; "another type"

}  // namespace fatctx::ort
