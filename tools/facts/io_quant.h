// Reads how the inputs and outputs of a record's graphs are quantised: the quantisation fact "io"
// (docs/manifest.md), kept as JSON text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "tools/facts/json_file.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

// Keys: graph, then tensor.
using IoQuantisation = std::map<std::string, std::map<std::string, TensorQuantisation>>;

// Parses {"graph": {"tensor": {"scale": 0.5, "zero_point": 128, "outside": "x"}}}; the last two are optional.
// Errors: invalid_argument with JSON pointer, the found and the allowed values.
[[nodiscard]] Result<IoQuantisation> io_quant_at(const JsonPlace& cursor);

[[nodiscard]] std::string io_quant_text(const IoQuantisation& io);

// Returns the fact among the options of a record; empty if they have none. Errors: malformed.
[[nodiscard]] Result<IoQuantisation> io_quant_of(const std::vector<DescribedOption>& options);

}  // namespace fatctx::tools
