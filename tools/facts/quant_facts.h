// Keeps how a model was quantised: facts of a record, or of a container as a whole, stored as options of the
// owner "quant". fatctx computes nothing with them; docs/manifest.md gives their meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "tools/facts/json_file.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

inline constexpr std::string_view kQuantOwner = "quant";
inline constexpr std::string_view kIoQuant = "io";  // io_quant.h parses this fact

struct QuantFacts {
  std::vector<DescribedOption> options;
  std::string overrides_from;  // a JSON file with the text of the option "overrides"; empty: none
};

// Reads "quant" of a manifest. Pure: reads no file. A relative path is resolved against `folder`, unless that
// is empty.
// Errors: invalid_argument with JSON pointer, the found and the allowed values.
[[nodiscard]] Result<QuantFacts> quant_at(const JsonPlace& cursor, const std::string& folder);

// Parses --quant: "activation_type=uint16,weight_type=uint8+int4,overrides=FILE". Errors: invalid_argument.
[[nodiscard]] Result<QuantFacts> parse_quant_flag(std::string_view text);

// Adds the facts, and the text of the file of overrides byte for byte.
// Errors: those of read_text_file; invalid_argument (not JSON, or neither an object nor an array; a fact that already
// exists).
[[nodiscard]] Status add_quant_facts(const QuantFacts& facts, std::vector<DescribedOption>& options);

// Adds the facts of a model's QuantizeLinear and DequantizeLinear nodes. Facts that exist already stay.
void add_quant_facts_of(const OnnxModel& model, std::vector<DescribedOption>& options);

// Returns the value of a fact, or null.
[[nodiscard]] const std::string* quant_fact(const std::vector<DescribedOption>& options, std::string_view key);

}  // namespace fatctx::tools
