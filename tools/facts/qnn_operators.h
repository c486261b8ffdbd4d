// Knows the operators that ONNX Runtime's execution provider for QNN takes, by its own pages (data/qnn_operators.csv).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/onnx/onnx_operators.h"

namespace fatctx::tools {

struct QnnOperator {
  std::string_view name;      // "Conv", "com.microsoft:Gelu"
  std::string_view since;     // "1": built into ONNX Runtime; "2": only as a plugin
  std::string_view backends;  // words; empty: all
  std::vector<std::pair<std::string_view, std::string_view>> types;  // pairs of inputs on htp; empty: not stated
  std::string_view note;
};

// Returns the table, sorted as in the file.
[[nodiscard]] std::vector<QnnOperator> qnn_operators();

// Returns what a model uses beyond the table: at most one line about operators, and one about the types of MatMul.
// `backend` is "htp" or "cpu".
[[nodiscard]] std::vector<std::string> beyond_qnn_operators(const OperatorUse& used, std::string_view backend);

}  // namespace fatctx::tools
