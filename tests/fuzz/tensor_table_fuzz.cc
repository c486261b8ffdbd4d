// Arbitrary bytes as the tensor table of a blob: it is refused, or every tensor is inside the blob and is found by its
// name.
//
// Input: 3 bytes, the size of the blob; the rest is the table.
#include "container/read/tensor_table.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fatctx;
  fuzz::Input input(data, size);
  const std::uint64_t blob_size = input.number(3);

  const auto table = container::parse_tensor_table(input.rest(), blob_size);

  if (!table.ok()) {
    fuzz::require_good(table.error());
    return 0;
  }
  std::vector<PackTensor> tensors;
  for (std::size_t i = 0; i < table.value().size(); ++i) {
    const TensorInfo tensor = table.value().at(i);
    fuzz::require(within({tensor.offset_in_blob, tensor.size_bytes}, blob_size), "a tensor lies in its blob",
                  tensor.name);
    fuzz::require(tensor_size_bytes(tensor.dtype, tensor.shape) == tensor.size_bytes, "size follows type and shape",
                  tensor.name);
    fuzz::require(table.value().find(tensor.name) == i, "a tensor is found by its name", tensor.name);
    tensors.push_back({std::string(tensor.name),
                       tensor.dtype,
                       {tensor.shape.begin(), tensor.shape.end()},
                       tensor.offset_in_blob,
                       tensor.size_bytes,
                       tensor.alias});
  }
  const auto built = container::build_tensor_table(tensors, blob_size);
  fuzz::require(built.ok(), "what was read can be written", built.ok() ? "" : built.error().message);
  fuzz::require(container::parse_tensor_table(built.value(), blob_size).ok(), "what was written can be read");
  return 0;
}
