// Reads comma separated values as specified by RFC 4180.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::runtime {

struct CsvRow {
  std::uint32_t line = 0;  // the line on which it begins, counted from 1
  std::vector<std::string> cells;
};

// Reads all rows. Drops blanks around a cell unless it is quoted, and skips empty lines. Lines end with LF or CR LF; a
// leading byte order mark is skipped. `name` is that of the file, for errors.
// Errors: invalid_argument, with line and cell (an unclosed quote, a quote within a cell, control characters, bytes
// that are not UTF-8).
[[nodiscard]] Result<std::vector<CsvRow>> read_csv(std::string_view text, std::string_view name);

}  // namespace fatctx::runtime
