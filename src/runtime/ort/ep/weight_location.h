// What a graph calls the file that its weights lie in, as importers and the compile side note it in a weight blob.
#pragma once

#include <string>
#include <string_view>

#include "fatctx/container.h"
#include "fatctx/description.h"

namespace fatctx::ort {

// An option of the weight blob; the owner is "onnx". The command notes the same (tools/onnx/onnx_weights.h).
inline constexpr std::string_view kLocationOption = "onnx.location";

// Of a blob without the option: its name.
[[nodiscard]] inline std::string location_of_blob(const RecordInfo& blob, const RecordDescription* description) {
  if (description != nullptr) {
    for (const DescribedOption& option : description->options) {
      if (option.key == kLocationOption) return option.value;
    }
  }
  return std::string(blob.name);
}

}  // namespace fatctx::ort
