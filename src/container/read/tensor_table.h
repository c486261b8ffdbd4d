// Converts tensor tables from bytes to checked tensors and back (docs/format.md, section 6). Pure: no IO.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/packer.h"
#include "fatctx/record.h"

namespace fatctx::container {

// A checked table of the tensors of one weight blob. Takes three allocations for any number of tensors.
//
// Threads: const members from any number of threads.
class ParsedTensorTable {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] std::uint64_t blob_size() const noexcept { return blob_size_; }
  // Returns a tensor. Lifetime: name and shape borrow from this table and survive a move of it.
  // Requires: index < size(). Order: by name, bytewise.
  [[nodiscard]] TensorInfo at(std::size_t index) const noexcept;
  // Returns the index of the tensor called `name`; nothing if there is none. Cost: a binary search.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const noexcept;

 private:
  friend Result<ParsedTensorTable> parse_tensor_table(ByteView bytes, std::uint64_t blob_size, bool newer_fields,
                                                      const Hash128* table_hash);

  struct Row {
    std::uint64_t offset_in_blob = 0;
    std::uint64_t size_bytes = 0;
    std::uint32_t name_offset = 0;
    std::uint32_t first_dim = 0;
    std::uint16_t name_size = 0;
    DType dtype = DType::kU8;
    std::uint8_t rank = 0;
    bool alias = false;
  };
  [[nodiscard]] std::string_view name(const Row& row) const noexcept {
    return {names_.data() + row.name_offset, row.name_size};
  }
  [[nodiscard]] Status check_overlaps(std::uint64_t entries_at, std::uint64_t entry_size) const;

  std::uint64_t blob_size_ = 0;
  std::vector<Row> rows_;
  std::vector<std::uint64_t> dims_;
  std::vector<char> names_;  // a vector, not a string: a move must not move the characters
};

// Builds the table of a blob of `blob_size` bytes. The order of `tensors` does not matter.
// Errors: invalid_argument (F29, F33), limit_exceeded.
[[nodiscard]] Result<std::vector<std::byte>> build_tensor_table(std::span<const PackTensor> tensors,
                                                                std::uint64_t blob_size);

// Returns the hash of the head of a table that build_tensor_table() returned.
[[nodiscard]] Hash128 table_hash_of(ByteView table) noexcept;

// Parses and checks a table; does not borrow from `bytes`. `newer_fields`: as Toc::newer_fields. `table_hash` is that
// of its reference; null if it is not compared. Offsets in errors count from the first byte of the table.
// Errors: truncated, trailing_data, bad_magic, unsupported, malformed (F15, F20, F29, F30, F33, F37, F46),
// checksum_mismatch (F46), limit_exceeded.
[[nodiscard]] Result<ParsedTensorTable> parse_tensor_table(ByteView bytes, std::uint64_t blob_size,
                                                           bool newer_fields = false,
                                                           const Hash128* table_hash = nullptr);

}  // namespace fatctx::container
