// Checks the options of ONNX Runtime's QNN execution provider. They are stored and returned unchanged; a
// value that the provider would refuse on the device is refused when it is packed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"

namespace fatctx::tools {

// Returns true for the names that applications have for the provider: "QNNExecutionProvider", "QNN".
[[nodiscard]] bool owned_by_qnn(std::string_view owner) noexcept;

// Returns the known keys, in the order of the table.
[[nodiscard]] std::vector<std::string> provider_option_keys();

// Returns the error in the value of an option of that provider: "found \"fast\"; allowed: \"burst\", ...".
// Returns nothing if the value is right, the option is unknown, or its owner is not that provider.
[[nodiscard]] std::optional<std::string> wrong_provider_option(const DescribedOption& option);

// Checks for options that contradict each other. Errors: invalid_argument.
[[nodiscard]] Status check_provider_options(const std::vector<DescribedOption>& options);

// Returns the keys that are not known, each with the nearest known one. They are not errors: newer providers
// have more.
[[nodiscard]] std::vector<std::string> unknown_provider_options(const std::vector<DescribedOption>& options);

// Returns true if the options name QNN's CPU backend, by its type or by its library (libQnnCpu.so,
// QnnCpu.dll).
[[nodiscard]] bool asks_for_cpu_backend(const std::vector<DescribedOption>& options);

// Returns the meaning of the finalisation mode among `options`: "3, the longest preparation"; empty if there
// is none.
[[nodiscard]] std::string optimization_level_text(const std::vector<DescribedOption>& options);

}  // namespace fatctx::tools
