// Plans the model of `fatctx wrap`: graphs, their inputs and outputs, and facts for the execution provider.
// They come from the record's description, the vendor's JSON and the command line. Reads no container.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/record.h"
#include "tools/facts/qnn_json.h"
#include "tools/onnx/onnx_wrapper.h"

namespace fatctx::tools {

struct WrapWish {
  std::string graph;                 // takes only this one; or the name of the one that the flags describe
  std::vector<std::string> inputs;   // "x:float32[1,3]", with ",scale=0.5,zero_point=128" if it is quantised
  std::vector<std::string> outputs;  // the same; if both are empty, the flags describe no graph
  std::optional<QnnJson> json;
  std::string source;               // the execution provider; empty: the record's
  std::int64_t max_size = 0;        // 0: the larger of the JSON's and that of the record's group
  std::int64_t group_max_size = 0;  // spill_fill_of_group
  bool quantised_io = false;        // leaves quantised inputs and outputs as they are
};

struct WrapPlan {
  WrapperModel model;  // without the binary
  std::vector<std::string> notes;
};

// Parses "NAME:TYPE[SIZE,...]", with ",scale=S,zero_point=Z" after it if wanted. `flag` is its name in
// errors.
// Errors: invalid_argument.
[[nodiscard]] Result<WrappedTensor> parse_graph_tensor(std::string_view flag, std::string_view text);

// Makes the plan; `said` may be null.
// Errors: invalid_argument, naming the record and the missing fact; unsupported (a type that an EPContext node cannot
// have); malformed (a fact of the description).
[[nodiscard]] Result<WrapPlan> plan_wrap(std::string_view record, const SelectionKey& key,
                                         const RecordDescription* said, const WrapWish& wish);

// Returns the suffix that the provider's own writer gives to the name of the binary: "_qnn.bin".
[[nodiscard]] std::string binary_suffix(std::string_view source);

}  // namespace fatctx::tools
