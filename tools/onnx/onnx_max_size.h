// Reads and writes the spill-fill buffer size of a model's main EPContext nodes.
#pragma once

#include <cstdint>
#include <string>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Returns the largest `max_size` of the model's EPContext nodes, in bytes; 0: none has one. Errors: those of
// read_onnx.
[[nodiscard]] Result<std::int64_t> largest_max_size(const std::string& model_path);

// Rewrites the model at `model_path` to `output`, with `max_size` set on every main EPContext node, so that
// sessions which share the buffer may start in any order. Returns how many nodes changed.
// Errors: those of read_onnx; io.
[[nodiscard]] Result<std::uint64_t> write_onnx_with_max_size(const std::string& model_path, std::int64_t max_size,
                                                             const std::string& output);

}  // namespace fatctx::tools
