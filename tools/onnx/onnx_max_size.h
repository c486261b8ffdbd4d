// The spill-fill buffer that the main EPContext nodes of a model ask for.
#pragma once

#include <cstdint>
#include <string>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// The largest `max_size` of the model's EPContext nodes, in bytes; 0: none says one. Errors: those of read_onnx.
[[nodiscard]] Result<std::int64_t> largest_max_size(const std::string& model_path);

// Writes the model at `model_path` again to `output`, with `max_size` as that of every EPContext node that is a main
// one, so that sessions which share the buffer may start in any order. Returns how many were changed.
// Errors: those of read_onnx; io.
[[nodiscard]] Result<std::uint64_t> write_onnx_with_max_size(const std::string& model_path, std::int64_t max_size,
                                                             const std::string& output);

}  // namespace fatctx::tools
