// Initializers inside of ONNX models as weight blobs: laid out like a file of external data that the model does not
// have.
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

// The option of such a weight blob; its value is the smallest size that was taken.
inline constexpr std::string_view kOnnxEmbedded = "onnx.embedded";

// Smaller ones say how to compute (shapes, axes, scales) more often than they are weights, and optimisers want to see
// them in the model. The onnx package draws the line here too.
inline constexpr std::uint64_t kDefaultEmbeddedSize = 1024;

// What external data of the model would be called: its file name with ".data" behind it.
[[nodiscard]] std::string embedded_location(const std::string& model_path);

struct EmbeddedWeights {
  std::vector<std::byte> bytes;
  std::vector<PackTensor> tensors;       // the large ones at the start of a page, so that other models can share them
  std::vector<DescribedOption> options;  // kOnnxLocation, kOnnxEmbedded, and "tensor.NAME.type" as external_weights()
};
// The initializers of at least `min_size` bytes. Errors: those of read_embedded; invalid_argument, if there are none;
// exists, if the model has external data of that name already.
[[nodiscard]] Result<EmbeddedWeights> embedded_weights(const OnnxModel& model, const std::string& model_path,
                                                       std::uint64_t min_size);

// Where the initializers of a model are that were packed from it, by name: each is compared with the bytes in the
// container. One that the blob does not have stays in the model. Errors: those of read_embedded and Container::tensors;
// invalid_argument (other bytes; none that the blob has).
[[nodiscard]] Result<std::map<std::string, OnnxExternal>> find_embedded(const Container& container,
                                                                        const RecordInfo& blob,
                                                                        const std::string& model_path,
                                                                        const std::string& location);

}  // namespace fatctx::tools
