// The rules of a tensor table that can be checked from its header or from one entry (docs/format.md, section 6).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "container/format/disk_format.h"
#include "container/read/tensor_table_format.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

// Return errors about a table; `offset` counts from its first byte.
[[nodiscard]] Error table_error(ErrorCode code, std::string_view rule, std::uint64_t offset, std::string message);
[[nodiscard]] Error malformed_table(std::string_view rule, std::uint64_t offset, std::string message);
// not_present: `part` of the table is zeros, because the file has only a part of its container.
[[nodiscard]] Error not_present_table(std::uint64_t offset, std::string_view part);

// Checks the header of a table of `size` bytes, and that the sizes in it add up. `first` begins with it.
// Errors: truncated, trailing_data, bad_magic, unsupported, malformed (F20, F33, F37), limit_exceeded.
[[nodiscard]] Result<TensorTableHeader> check_table_header(ByteView first, std::uint64_t size, std::uint64_t blob_size,
                                                           bool newer_fields);
// Returns the bytes of the header and of the hashes of the pages.
[[nodiscard]] inline std::uint64_t head_size_of(const TensorTableHeader& header) noexcept {
  return sizeof(TensorTableHeader) + std::uint64_t{header.page_count} * sizeof(DiskHash);
}
// Checks one entry; `offset` is that of the entry. Errors: malformed (F20, F33), limit_exceeded.
[[nodiscard]] Status check_tensor_entry(const TensorEntry& entry, std::uint64_t offset, std::string_view name,
                                        std::uint64_t blob_size, std::span<const std::uint64_t, kMaxRank> dims,
                                        bool newer_fields);

}  // namespace fatctx::container
