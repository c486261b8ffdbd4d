// The name that a graph uses for the file of its weights. Importers and the compile side store it in a weight blob.
#pragma once

#include <string>
#include <string_view>

#include "fatctx/container.h"
#include "fatctx/description.h"

namespace fatctx::ort {

// An option of the weight blob; its owner is "onnx". The command stores the same option (tools/onnx/onnx_weights.h).
inline constexpr std::string_view kLocationOption = "onnx.location";

// Returns the name of the file; for a blob without the option, the name of the blob.
[[nodiscard]] inline std::string location_of_blob(const RecordInfo& blob, const RecordDescription* description) {
  if (description != nullptr) {
    for (const DescribedOption& option : description->options) {
      if (option.key == kLocationOption) return option.value;
    }
  }
  return std::string(blob.name);
}

}  // namespace fatctx::ort
