// Counts the multiplications of a node, by ONNX's definitions of the operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tools/onnx/onnx_look.h"

namespace fatctx::tools {

// Returns true for an operator whose multiplications onnx_macs() counts.
[[nodiscard]] bool multiplies(std::string_view op);

// Returns the multiply-accumulate operations of a node; nothing for an operator that is not counted, if a shape is not
// known or not fixed, or if 64 bits cannot count them.
[[nodiscard]] std::optional<std::uint64_t> onnx_macs(const OnnxNode& node);

// Returns the number of elements; nothing if a size is not known.
[[nodiscard]] std::optional<std::uint64_t> element_count(const OnnxShape& shape);

}  // namespace fatctx::tools
