// A copy of qnn_compile.py, the Python program that drives the QNN provider.
#pragma once

#include <string_view>

namespace fatctx::tools {

[[nodiscard]] std::string_view qnn_script() noexcept;

}  // namespace fatctx::tools
