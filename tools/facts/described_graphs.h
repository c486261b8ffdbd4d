// Describes a container's graphs from the vendor's JSON.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/packer.h"

namespace fatctx::tools {

// Returns true if the file that describes a record is that JSON and not an ONNX model, by the end of its
// name.
[[nodiscard]] bool is_qnn_json(const std::string& path);

// Adds graphs with inputs, outputs and spill-fill sizes, and the scales of quantised tensors as the
// quantisation fact "io".
// Errors: those of read_qnn_json; invalid_argument (a graph without a name, "io" given twice).
[[nodiscard]] Status describe_by_qnn_json(const std::string& path, PackRecord& record);

}  // namespace fatctx::tools
