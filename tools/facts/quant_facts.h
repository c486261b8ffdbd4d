// How a model was quantised: facts of a record, or of a container as a whole, kept as options of the owner "quant".
// fatctx computes nothing with them; docs/manifest.md says what each means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "tools/facts/json_cursor.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

inline constexpr std::string_view kQuantOwner = "quant";
inline constexpr std::string_view kIoQuant = "io";  // the fact that io_quant.h reads

struct QuantFacts {
  std::vector<DescribedOption> options;
  std::string overrides_from;  // a JSON file whose text is to become the option "overrides"; empty: none
};

// "quant" of a manifest. Pure: reads no file; a relative path starts with `folder`, unless that is empty.
// Errors: invalid_argument with JSON pointer, what was found and what is allowed.
[[nodiscard]] Result<QuantFacts> quant_at(const JsonCursor& cursor, const std::string& folder);

// "activation_type=uint16,weight_type=uint8+int4,overrides=FILE" of --quant. Errors: invalid_argument.
[[nodiscard]] Result<QuantFacts> parse_quant_flag(std::string_view text);

// Adds the facts, those of the file of overrides too, whose text is kept byte for byte.
// Errors: those of read_text_file; invalid_argument (no JSON, or neither an object nor an array; a fact that is there
// already).
[[nodiscard]] Status add_quant_facts(const QuantFacts& facts, std::vector<DescribedOption>& options);

// What the QuantizeLinear and DequantizeLinear nodes of a model say, as far as nothing is said yet.
void add_quant_facts_of(const OnnxModel& model, std::vector<DescribedOption>& options);

// The value of a fact, or null.
[[nodiscard]] const std::string* quant_fact(const std::vector<DescribedOption>& options, std::string_view key);

}  // namespace fatctx::tools
