// Arbitrary bytes as a GGUF file: it is refused, or its tensors are within the file, ordered, without overlap and with
// unique names.
#include "container/import/gguf.h"
#include "fuzz/tensor_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)fatctx::fuzz::checked_index(&fatctx::container::read_gguf_index, data, size);
  return 0;
}
