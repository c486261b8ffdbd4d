// The common result of the importers of files with weights: tensors by name inside the unchanged file.
#pragma once

#include <cstdint>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"

namespace fatctx {

struct ImportedTensors {
  // In the order of their bytes. Offsets count from the first byte of the file, so they are offsets in a weight blob
  // that holds the file as it is; extracting such a blob gives the file back.
  //
  // A tensor table has the element types of DType and up to eight dimensions. A tensor with anything else (a
  // block-quantised one, an 8-bit float) is uint8 with shape {size}, and `options` say what it is.
  std::vector<PackTensor> tensors;
  // For each tensor of the second kind the option "tensor.NAME.type", of the owner "safetensors" or "gguf", with the
  // file's own word for the type in lower case and the shape, outermost dimension first: "q4_k [4096, 256]".
  std::vector<DescribedOption> options;
  // The metadata of a GGUF file and `__metadata__` of a safetensors file, in the order of the file. The owner is the
  // type of the value: "text", "uint32", "array". A text longer than 256 bytes is cut; of an array the value has the
  // number of elements, their type and the first four numbers: "5 float32: 0.5, 0.25, 1, 2, ...".
  std::vector<DescribedOption> metadata = {};
  ByteRange data;  // from the first tensor to the last, in the file
  std::uint64_t file_size = 0;
};

// Sets the alias flag of every tensor that shares bytes with another one, as tied weights do. A tensor table refuses
// overlapping tensors without the flag. For importers of other formats; the importers here have set it.
void mark_aliases(std::vector<PackTensor>& tensors);

}  // namespace fatctx
