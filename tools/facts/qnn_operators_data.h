// A copy of data/qnn_operators.csv.
#pragma once

#include <string_view>

namespace fatctx::tools {

[[nodiscard]] std::string_view qnn_operators_data() noexcept;

}  // namespace fatctx::tools
