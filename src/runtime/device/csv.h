// Comma separated values, as RFC 4180 has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::runtime {

struct CsvRow {
  std::uint32_t line = 0;  // on which it begins, counted from 1
  std::vector<std::string> cells;
};

// Blanks around a cell are dropped unless it is quoted; empty lines are no rows. Lines end with LF or CR LF, a byte
// order mark in front is skipped. `name` is the file's, for errors.
// Errors: invalid_argument (a quote that is not closed or stands within a cell; control characters; bytes that are not
// UTF-8), with line and cell.
[[nodiscard]] Result<std::vector<CsvRow>> read_csv(std::string_view text, std::string_view name);

}  // namespace fatctx::runtime
