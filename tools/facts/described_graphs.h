// Graphs out of the vendor's JSON as a container describes them.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/packer.h"

namespace fatctx::tools {

// True if what describes a record is that JSON and no ONNX model: by the end of its name.
[[nodiscard]] bool is_qnn_json(const std::string& path);

// Graphs with inputs, outputs and spill-fill sizes, and the scales of quantised tensors as the quantisation fact "io".
// Errors: those of read_qnn_json; invalid_argument (a graph without a name, "io" said twice).
[[nodiscard]] Status describe_by_qnn_json(const std::string& path, PackRecord& record);

}  // namespace fatctx::tools
