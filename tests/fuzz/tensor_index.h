// The promises of every importer of a file with named tensors, for arbitrary bytes.
#pragma once

#include <set>
#include <string>

#include "container/import/import_tensors.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "mapping/buffer_file.h"

namespace fatctx::fuzz {

// Requires that the file is refused with a good error, or that its tensors are within it, ordered, without overlap and
// with unique names. Their sizes must be those of their types and shapes. Returns the index, if there is one.
inline Result<container::ImportedIndex> checked_index(container::ReadIndex read, const std::uint8_t* data,
                                                      std::size_t size) {
  Input input(data, size);
  const mapping::BufferFile file(input.rest(), nullptr);

  auto index = read(file, size);

  if (!index.ok()) {
    require_good(index.error());
    return index;
  }
  std::set<std::string> names;
  std::uint64_t end = index.value().data.offset;
  for (const container::ImportedTensor& tensor : index.value().tensors) {
    require(within(tensor.range, size), "a tensor lies in the file", tensor.name);
    require(tensor.range.offset >= end, "tensors are in order and apart", tensor.name);
    require(names.insert(tensor.name).second, "names are unique", tensor.name);
    require(!tensor.dtype || tensor_size_bytes(*tensor.dtype, tensor.shape) == tensor.range.size,
            "a tensor has the size of its type and shape", tensor.name);
    end = tensor.range.offset + tensor.range.size;
  }
  return index;
}

}  // namespace fatctx::fuzz
