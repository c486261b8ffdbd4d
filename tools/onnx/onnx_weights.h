// Turns external data of ONNX models into weight blobs: each file unchanged, with a table of its
// initializers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

// The option of such a weight blob that names the model's file; the owner is "onnx".
inline constexpr std::string_view kOnnxLocation = "onnx.location";
// The format's name in descriptions.
inline constexpr std::string_view kOnnxDataFormat = "onnx-external-data";

struct OnnxWeights {
  std::string path;
  std::vector<PackTensor> tensors;       // initializers that share bytes have the alias flag
  std::vector<DescribedOption> options;  // kOnnxLocation, and "tensor.NAME.type" for types that no tensor table has
};

// Describes the file at `location`, one of model.external_files. Reads only the size of the file.
// Errors: malformed (a location that is absolute or leaves the folder of the model, through a link too; a size that is
//         not that of type and shape), truncated (bytes behind the end of the file), unsupported (neither a size nor a
//         type whose size is known), not_found, not_regular_file.
[[nodiscard]] Result<OnnxWeights> external_weights(const OnnxModel& model, const std::string& model_path,
                                                   const std::string& location);

// Adds the tensors that another model has in the same file: models of one group (prefill and decode) share
// it, and name the same or other parts of it. A tensor that both have is one tensor; tensors that share bytes
// get the alias flag.
// Errors: invalid_argument (one name for different bytes, or with another type or shape).
[[nodiscard]] Status add_weights(OnnxWeights& weights, OnnxWeights more, const std::string& model_path);

// Returns the location whose file is `path`. Errors: invalid_argument, listing the locations of the model.
[[nodiscard]] Result<std::string> location_of(const OnnxModel& model, const std::string& model_path,
                                              const std::string& path);

}  // namespace fatctx::tools
