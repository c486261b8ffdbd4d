// Reads the tensors of a safetensors file, so that a weight blob made of one is a set of tensors by name.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/import_tensors.h"
#include "fatctx/packer.h"

namespace fatctx {

// Reads the header of the file at `path`, never its tensors. The header must account for every byte behind it, as the
// format requires: no gap, no overlap, nothing behind the last tensor.
//
// Errors: not_found, io, not_regular_file, truncated (the file ends before the header or a tensor does), malformed,
//         unsupported (an unknown element type or key), trailing_data, limit_exceeded; each names tensor and byte.
// Cost: the header is read once, at most 100,000,000 bytes of it, as the format allows.
[[nodiscard]] Result<ImportedTensors> tensors_from_safetensors(const std::string& path);

// Returns the whole file as a weight blob called `name`, with its tensors, and their exact types in its description.
// Errors: those of tensors_from_safetensors.
[[nodiscard]] Result<PackRecord> weights_from_safetensors(const std::string& path, const std::string& name);

}  // namespace fatctx
