// How the inputs and outputs of a record's graphs stand for numbers: the quantisation fact "io" (docs/manifest.md),
// kept as JSON text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "tools/facts/json_cursor.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

// By graph, then by tensor.
using IoQuantisation = std::map<std::string, std::map<std::string, TensorQuantisation>>;

// {"graph": {"tensor": {"scale": 0.5, "zero_point": 128, "outside": "x"}}}; the last two may be left out.
// Errors: invalid_argument with JSON pointer, what was found and what is allowed.
[[nodiscard]] Result<IoQuantisation> io_quant_at(const JsonCursor& cursor);

[[nodiscard]] std::string io_quant_text(const IoQuantisation& io);

// What the options of a record say; empty if they say nothing. Errors: malformed.
[[nodiscard]] Result<IoQuantisation> io_quant_of(const std::vector<DescribedOption>& options);

}  // namespace fatctx::tools
