// Padding behind the header: bytes that belong to nothing and are zero (docs/format.md, F35).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "container/read/open.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

enum class PaddingOf : std::uint8_t {
  kFile,             // between segments and tables
  kFileAndSegments,  // also between the records of packed segments; earlier generations may have had records there
};

// Returns the gaps, ascending.
[[nodiscard]] std::vector<ByteRange> padding_behind_header(const OpenedToc& container, PaddingOf of);

// Returns the part of a range from its first byte that is not zero to the last one. Reads 256 KiB at a time, and stops
// behind the first piece with such bytes. Errors: those of reading.
[[nodiscard]] Result<std::optional<ByteRange>> first_not_zero(const mapping::OsFile& file, ByteRange range);

}  // namespace fatctx::container
