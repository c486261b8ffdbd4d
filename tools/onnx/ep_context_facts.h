// What an execution provider has written about a context binary into the model around it, kept with the record as
// options, so that `fatctx wrap` can write it again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/description.h"

namespace fatctx::tools {

inline constexpr std::string_view kEpContextOwner = "EPContext";
inline constexpr std::string_view kCompatibilityPrefix = "ep_compatibility_info.";  // of keys of a model's notes

// Attributes of a main node, by their names in ONNX.
inline constexpr std::string_view kSourceFact = "source";
inline constexpr std::string_view kSdkVersionFact = "ep_sdk_version";
inline constexpr std::string_view kMaxSizeFact = "max_size";

// What a provider calls itself in `source` may vary: "QNN", "qnn" and "QNNExecutionProvider" are one.
[[nodiscard]] bool is_qnn(std::string_view source);

// The backend of the binaries of a provider, by its `source`: "htp" for QNN's, else the name of the provider in small
// letters, "tensorrt" for "TensorrtExecutionProvider".
[[nodiscard]] std::string backend_of_source(std::string_view source);

// The value of a fact, or an empty text.
[[nodiscard]] std::string ep_context_fact(const std::vector<DescribedOption>& options, std::string_view key);

}  // namespace fatctx::tools
