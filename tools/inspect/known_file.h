// Files that are no containers and whose form is known all the same: what can be said of them.
#pragma once

#include <optional>
#include <string>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// What `fatctx info` prints of the file at `path`: the entries of a DLC, the tensors of a file of weights, the graph of
// an ONNX model, or one line for what is opaque. Nothing if the form is not known, or the file cannot be read.
// Errors: those of the importers, for a file that begins as one of a known form and is damaged.
[[nodiscard]] Result<std::optional<std::string>> known_file_text(const std::string& path, bool json);

// "DLC, IREE modules, ...": the forms that are known.
[[nodiscard]] std::string known_forms();

}  // namespace fatctx::tools
