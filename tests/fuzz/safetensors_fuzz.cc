// Any bytes as a safetensors file: it is refused, or its tensors take every byte behind the header once, under names
// of their own.
#include <set>

#include "container/safetensors.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "mapping/buffer_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fatctx;
  fuzz::Input input(data, size);
  const mapping::BufferFile file(input.rest(), nullptr);

  const auto index = container::read_safetensors_index(file, size);

  if (!index.ok()) {
    fuzz::require_good(index.error());
    return 0;
  }
  std::set<std::string> names;
  std::uint64_t end = index.value().data.offset;
  for (const container::ImportedTensor& tensor : index.value().tensors) {
    fuzz::require(tensor.range.offset == end, "tensors lie one behind the other", tensor.name);
    fuzz::require(within(tensor.range, size), "a tensor lies in the file", tensor.name);
    fuzz::require(names.insert(tensor.name).second, "names are unique", tensor.name);
    fuzz::require(!tensor.dtype || tensor_size_bytes(*tensor.dtype, tensor.shape) == tensor.range.size,
                  "a tensor has the size of its type and shape", tensor.name);
    end = tensor.range.offset + tensor.range.size;
  }
  fuzz::require(end == size, "the last tensor ends with the file");
  return 0;
}
