// Reads the tensors of a GGUF file, so that a weight blob made of one is a set of tensors by name.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/import_tensors.h"
#include "fatctx/packer.h"

namespace fatctx {

// Reads the index of the file at `path`, never its tensors: GGUF 2 and 3, little-endian. It keeps
// the metadata in the form of ImportedTensors. Tensors must follow each other in the order of the index, padded to the
// alignment, as ggml requires.
//
// Errors: not_found, io, not_regular_file, truncated (the file ends before the index or a tensor does), bad_magic,
//         unsupported (another version, a big-endian file, nested arrays, an element type that is not known),
//         malformed, trailing_data, limit_exceeded; each names tensor and byte.
// Cost: the index is read once, at most 256 MiB of it, in pieces of 64 KiB.
[[nodiscard]] Result<ImportedTensors> tensors_from_gguf(const std::string& path);

// Returns the whole file as a weight blob called `name`, with its tensors, and their exact types in its description.
// Errors: those of tensors_from_gguf.
[[nodiscard]] Result<PackRecord> weights_from_gguf(const std::string& path, const std::string& name);

}  // namespace fatctx
