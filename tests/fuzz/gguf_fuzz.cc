// Any bytes as a GGUF file: it is refused, or its tensors lie in the file, in order and apart, under names of their
// own.
#include "container/import/gguf.h"
#include "fuzz/tensor_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)fatctx::fuzz::checked_index(&fatctx::container::read_gguf_index, data, size);
  return 0;
}
