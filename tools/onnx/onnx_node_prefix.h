// Prefixes the names of EPContext nodes, to tell which part of a larger model they are.
#pragma once

#include <cstdint>
#include <string>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Rewrites the model at `model_path` to `output`, with `prefix` before the name of every EPContext node that
// does not begin with it yet. Returns how many nodes changed.
// Errors: those of read_onnx; io.
[[nodiscard]] Result<std::uint64_t> write_onnx_with_node_prefix(const std::string& model_path,
                                                                const std::string& prefix, const std::string& output);

}  // namespace fatctx::tools
