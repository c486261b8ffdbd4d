// Describes files of a known form that are not containers.
#pragma once

#include <optional>
#include <string>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Returns the text that `fatctx info` prints for the file at `path`. This is the entries of a DLC, the
// tensors of a file of weights, the graph of an ONNX model, or one line for an opaque file. Returns nothing
// if the form is not known, or the file cannot be read.
// Errors: those of the importers, for a file that begins as one of a known form and is damaged.
[[nodiscard]] Result<std::optional<std::string>> known_file_text(const std::string& path, bool json);

// Returns the graphs of each context binary of a DLC; nothing for other forms. Errors: those of list_dlc.
[[nodiscard]] Result<std::optional<std::string>> known_file_graphs(const std::string& path);

// Returns the known forms: "DLC, IREE modules, ...".
[[nodiscard]] std::string known_forms();

}  // namespace fatctx::tools
