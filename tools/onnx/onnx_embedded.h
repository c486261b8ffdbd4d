// Turns initializers inside ONNX models into weight blobs, laid out like a file of external data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

// The option of such a weight blob; its value is the minimum size of its tensors.
inline constexpr std::string_view kOnnxEmbedded = "onnx.embedded";

// Smaller ones are more often parameters (shapes, axes, scales) than weights, and optimisers need them in the
// model. The onnx package uses the same limit.
inline constexpr std::uint64_t kDefaultEmbeddedSize = 1024;

// Returns the name that external data of the model would have: its file name with ".data" appended.
[[nodiscard]] std::string embedded_location(const std::string& model_path);

struct EmbeddedWeights {
  std::vector<std::byte> bytes;
  std::vector<PackTensor> tensors;       // the large ones at the start of a page, so that other models can share them
  std::vector<DescribedOption> options;  // kOnnxLocation, kOnnxEmbedded, and "tensor.NAME.type" as external_weights()
};
// Returns the weights of at least `min_size` bytes, those of inner graphs and functions included. Errors: those of
// read_embedded; invalid_argument, if there are none; exists, if the model already has external data of that name.
[[nodiscard]] Result<EmbeddedWeights> embedded_weights(const OnnxModel& model, const std::string& model_path,
                                                       std::uint64_t min_size);

// Locates, by name, the weights of a model that was packed: each is compared with the bytes in the container. One that
// the blob does not have stays in the model. `min_size` is the blob's option kOnnxEmbedded. Errors: those of
// read_embedded and Container::tensors; invalid_argument (other bytes; none that the blob has).
[[nodiscard]] Result<std::map<std::string, OnnxExternal>> find_embedded(const Container& container,
                                                                        const RecordInfo& blob,
                                                                        const std::string& model_path,
                                                                        const std::string& location,
                                                                        const std::string& min_size);

}  // namespace fatctx::tools
