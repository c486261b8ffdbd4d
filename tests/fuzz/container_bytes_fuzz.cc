// Arbitrary bytes as a container, unchanged. Few inputs pass the checksums: container_edits_fuzz.cc covers what
// follows.
#include "fuzz/input.h"
#include "fuzz/whole_container.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fatctx::fuzz::Input input(data, size);
  fatctx::fuzz::use_container(input.rest());
  return 0;
}
