// External data of ONNX models as weight blobs: each file as it is, with a table of the initializers in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

// The option of such a weight blob that says which file of the model it is; the owner is "onnx".
inline constexpr std::string_view kOnnxLocation = "onnx.location";
// The form that descriptions name.
inline constexpr std::string_view kOnnxDataFormat = "onnx-external-data";

struct OnnxWeights {
  std::string path;
  std::vector<PackTensor> tensors;       // initializers whose bytes are the same ones carry the alias flag
  std::vector<DescribedOption> options;  // kOnnxLocation, and "tensor.NAME.type" for types that no tensor table has
};

// The file at `location`, one of model.external_files. Of the file only the size is looked at.
// Errors: malformed (a location that is absolute or leaves the folder of the model, through a link too; a size that is
//         not that of type and shape), truncated (bytes behind the end of the file), unsupported (neither a size nor a
//         type whose size is known), not_found, not_regular_file.
[[nodiscard]] Result<OnnxWeights> external_weights(const OnnxModel& model, const std::string& model_path,
                                                   const std::string& location);

// Adds what another model says of the same file: models of one group (prefill and decode) share it, and name other
// parts of it or the same. A tensor that both have is one tensor; tensors that share bytes get the alias flag. Errors:
// invalid_argument (one name for different bytes, or with another type or shape).
[[nodiscard]] Status add_weights(OnnxWeights& weights, OnnxWeights more, const std::string& model_path);

// The location whose file is `path`. Errors: invalid_argument, listing the locations of the model.
[[nodiscard]] Result<std::string> location_of(const OnnxModel& model, const std::string& model_path,
                                              const std::string& path);

}  // namespace fatctx::tools
