// The header of a safetensors file.
//
// Layout: u64 size of the header, little-endian; the header, one JSON object that may end in blanks; then the data. The
// object has a member for each tensor, {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}; offsets count
// from the first byte of the data. It may also have "__metadata__", an object of texts. Together the tensors cover
// every byte of the data once.
#pragma once

#include <cstdint>

#include "container/import/import_tensors.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;  // the format's own limit
inline constexpr std::uint64_t kMaxSafetensorsRank = 64;

// Parses `header`, which is the JSON; the data follows it and ends with the file.
// Errors: malformed, unsupported, truncated, trailing_data, limit_exceeded.
[[nodiscard]] Result<ImportedIndex> parse_safetensors_header(ByteView header, std::uint64_t file_size);

// Reads and parses the header. Errors: those above, and io.
[[nodiscard]] Result<ImportedIndex> read_safetensors_index(const mapping::OsFile& file, std::uint64_t file_size);

}  // namespace fatctx::container
