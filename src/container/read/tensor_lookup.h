// Finds one tensor in a table without reading the rest of it: head, index, entry and name, each in pages with a hash.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "container/read/parse.h"
#include "container/read/tensor_table_format.h"
#include "fatctx/record.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// A tensor with the memory that its info borrows.
struct FoundTensor {
  std::string name;
  DType dtype = DType::kU8;
  std::array<std::uint64_t, kMaxRank> dims = {};
  std::uint8_t rank = 0;
  std::uint64_t offset_in_blob = 0;
  std::uint64_t size_bytes = 0;
  bool alias = false;

  // Lifetime: name and shape borrow from this object.
  [[nodiscard]] TensorInfo info() const noexcept {
    return {.name = name,
            .dtype = dtype,
            .shape = std::span(dims).first(rank),
            .offset_in_blob = offset_in_blob,
            .size_bytes = size_bytes,
            .alias = alias};
  }
};

// Returns the tensor called `name`; nothing if the index of the table lists none. Compares the head with `table_hash`
// and each page that it reads with its hash in the head; checks the entry, but not the table as a whole.
// `in_file`: the table's place, in one piece and as it is. `blob_size`, `newer_fields`: as in parse_tensor_table().
// Errors: those of parse_tensor_table(), truncated, io. Offsets in errors count from the first byte of the table.
[[nodiscard]] Result<std::optional<FoundTensor>> find_tensor(const mapping::OsFile& file, ByteRange in_file,
                                                             std::uint64_t blob_size, const Hash128& table_hash,
                                                             bool newer_fields, std::string_view name);

}  // namespace fatctx::container
