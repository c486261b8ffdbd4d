// Arbitrary bytes as a safetensors file: it is refused, or its tensors cover every byte behind the header once, with
// unique names.
#include "container/import/safetensors.h"
#include "fuzz/tensor_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fatctx;
  const auto index = fuzz::checked_index(&container::read_safetensors_index, data, size);
  if (!index.ok()) return 0;
  std::uint64_t end = index.value().data.offset;
  for (const container::ImportedTensor& tensor : index.value().tensors) {
    fuzz::require(tensor.range.offset == end, "tensors lie one behind the other", tensor.name);
    end = tensor.range.offset + tensor.range.size;
  }
  fuzz::require(end == size, "the last tensor ends with the file");
  return 0;
}
