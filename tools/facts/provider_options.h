// The options of ONNX Runtime's QNN execution provider as data: what a value may be. Options are kept and handed out as
// they are; a value that the provider would refuse on the device is refused when it is packed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"

namespace fatctx::tools {

// The names under which applications know the provider: "QNNExecutionProvider", "QNN".
[[nodiscard]] bool owned_by_qnn(std::string_view owner) noexcept;

// The keys that are known, in the order of the table.
[[nodiscard]] std::vector<std::string> provider_option_keys();

// What is wrong with the value of an option of that provider: "found \"fast\"; allowed: \"burst\", ...". Nothing if
// nothing is, or if the option is none that is known. Other owners may say what they like.
[[nodiscard]] std::optional<std::string> wrong_provider_option(const DescribedOption& option);

// The same for options that contradict each other. Errors: invalid_argument.
[[nodiscard]] Status check_provider_options(const std::vector<DescribedOption>& options);

// Keys that the provider does not have as far as is known, each with the nearest one: newer providers have more.
[[nodiscard]] std::vector<std::string> unknown_provider_options(const std::vector<DescribedOption>& options);

// Whether the options name QNN's CPU backend, by its type or by its library (libQnnCpu.so, QnnCpu.dll).
[[nodiscard]] bool asks_for_cpu_backend(const std::vector<DescribedOption>& options);

// "3, the longest preparation": what the finalisation mode among `options` means; empty if there is none.
[[nodiscard]] std::string optimization_level_text(const std::vector<DescribedOption>& options);

}  // namespace fatctx::tools
