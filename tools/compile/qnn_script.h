// The program that drives the QNN provider, in Python: a copy of qnn_compile.py.
#pragma once

#include <string_view>

namespace fatctx::tools {

[[nodiscard]] std::string_view qnn_script() noexcept;

}  // namespace fatctx::tools
