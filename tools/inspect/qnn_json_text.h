// Describes the JSON of the tools for Snapdragon for `fatctx info`: beside a context binary, or as a file of its own.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "fatctx/base/result.h"
#include "tools/inspect/known_file.h"

namespace fatctx::tools {

// Returns true if the file is JSON with the graphs of a context binary (`info.graphs`) or of a converted model
// (`graph.tensors`), in order or not. Cost: reads and parses the whole file.
[[nodiscard]] bool has_qnn_graphs(const std::string& path);

// Describes such a file: what it says of itself, and its graphs or operators. JSON gets its members added to `facts`.
// Errors: those of read_qnn_json; unsupported, for operators that the file does not state.
[[nodiscard]] Result<std::string> qnn_json_text(const std::string& path, const FileViews& views, Json& facts);

// Returns the text about a binary of a form that is not known, if the vendor's JSON about it is beside it: NET.json or
// NET.bin.json for NET.bin, as qnn-context-binary-utility writes it. Returns nothing if there is none.
// Errors: invalid_argument, for a view other than graphs.
[[nodiscard]] Result<std::optional<std::string>> binary_with_json_text(const std::string& path, const FileViews& views);

}  // namespace fatctx::tools
