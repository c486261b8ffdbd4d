// Arbitrary bytes as the tensor table of a blob: it is refused, or every tensor is inside the blob and is found by its
// name.
//
// Input: 3 bytes, the size of the blob; the rest is the table. The hashes of its pages are corrected, and so is its
// index unless the highest bit of the size is set.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "container/format/name_index.h"
#include "container/read/tensor_table.h"
#include "container/read/tensor_table_format.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "support/rehash.h"

namespace {

using namespace fatctx;

constexpr std::uint64_t kIndexAsItIs = std::uint64_t{1} << 23;
constexpr std::uint64_t kMostTensors = 1024;  // for which the index is made

// Writes the index of the names in a table, as far as its numbers make sense.
void correct_index(support::Bytes& table) {
  if (table.size() < sizeof(container::TensorTableHeader)) return;
  const auto header = support::struct_at<container::TensorTableHeader>(table, 0);
  const std::uint64_t entries = sizeof(header) + std::uint64_t{header.page_count} * sizeof(container::DiskHash);
  const std::uint64_t count = header.count;
  if (count == 0 || count > kMostTensors || header.entry_size < sizeof(container::TensorEntry)) return;
  const std::uint64_t index = entries + count * header.entry_size;
  const std::uint64_t names = index + count * sizeof(container::NameIndexEntry);
  if (names > table.size()) return;
  const std::string_view text(reinterpret_cast<const char*>(table.data() + names), table.size() - names);
  std::vector<std::string_view> all;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = support::struct_at<container::TensorEntry>(table, entries + i * header.entry_size);
    if (entry.name_offset > text.size()) return;
    all.push_back(text.substr(entry.name_offset, entry.name_size));
  }
  std::uint64_t at = index;
  for (const container::NameIndexEntry& row : container::name_index(all)) {
    support::put_struct(table, at, row);
    at += sizeof row;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint64_t size_and_index = input.number(3);
  const std::uint64_t blob_size = size_and_index % kIndexAsItIs;
  const ByteView rest = input.rest();
  support::Bytes bytes(rest.begin(), rest.end());
  if (size_and_index < kIndexAsItIs) correct_index(bytes);
  support::rehash_table(bytes);

  const auto table = container::parse_tensor_table(bytes, blob_size);

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
