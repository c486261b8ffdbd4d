// Reads the index of a GGUF file, versions 2 and 3.
//
// Layout (little-endian, packed): "GGUF", u32 version, u64 number of tensors, u64 number of key-value pairs; then the
// pairs and the tensors. A pair is a text (u64 size, bytes), u32 type and value. A tensor is a text, u32 rank, u64
// dimensions with the innermost first, u32 element type and u64 offset. Offsets count from the first byte of the data.
// The data starts on the alignment (key "general.alignment", 32 if it is missing), and so does each tensor.
#pragma once

#include <cstdint>

#include "container/import/import_tensors.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

inline constexpr std::uint64_t kMaxGgufIndexBytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMaxGgufPairs = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kMaxGgufKeySize = 65535;  // the format's own limit
inline constexpr std::uint32_t kMaxGgufRank = 4;

// Reads the index in pieces of 64 KiB, and never a tensor.
// Errors: truncated, bad_magic, unsupported, malformed, trailing_data, limit_exceeded, io.
[[nodiscard]] Result<ImportedIndex> read_gguf_index(const mapping::OsFile& file, std::uint64_t file_size);

}  // namespace fatctx::container
