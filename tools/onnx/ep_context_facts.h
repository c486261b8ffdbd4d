// Keeps an execution provider's facts about a context binary, from the model around it, as options of the
// record, so that `fatctx wrap` can write them again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/description.h"

namespace fatctx::tools {

inline constexpr std::string_view kEpContextOwner = "EPContext";
inline constexpr std::string_view kCompatibilityPrefix = "ep_compatibility_info.";  // of keys of a model's metadata

// Attributes of a main node, by their ONNX names.
inline constexpr std::string_view kSourceFact = "source";
inline constexpr std::string_view kSdkVersionFact = "ep_sdk_version";
inline constexpr std::string_view kMaxSizeFact = "max_size";
// The hash of a wrapper model, in hex: the model, with nodes between, of which the binary is a part. One for each
// model.
inline constexpr std::string_view kWholeModelFact = "whole_model";
// The number of EPContext nodes in a wrapper model.
inline constexpr std::string_view kPartitionsFact = "partitions";

// Returns true for QNN's provider. Its name in `source` varies: "QNN", "qnn" and "QNNExecutionProvider" are
// the same.
[[nodiscard]] bool is_qnn(std::string_view source);

// Returns the backend of a provider's binaries, by its `source`: "htp" for QNN's, else the name of the
// provider in small letters, "tensorrt" for "TensorrtExecutionProvider".
[[nodiscard]] std::string backend_of_source(std::string_view source);

// Returns the value of a fact, or an empty text.
[[nodiscard]] std::string ep_context_fact(const std::vector<DescribedOption>& options, std::string_view key);

}  // namespace fatctx::tools
