// Reads a table of SoCs from text, row by row, and checks each value. soc_table.cc checks the rows against each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/soc_table.h"

namespace fatctx::runtime {

struct SocRow {
  Soc soc;
  std::string place;  // "lab.csv:12"
};

struct SocQuirkRow {
  SocQuirk quirk;
  std::string place;
};

struct SocRows {
  std::string version;
  bool extends_built_in = false;
  std::vector<SocSource> sources;
  std::vector<std::uint32_t> boundaries;  // ascending, without duplicates
  std::vector<SocQuirkRow> quirks;
  std::vector<SocRow> rows;
};

// Reads all rows. Errors: invalid_argument, with name, line and column, the text found and the values allowed.
[[nodiscard]] Result<SocRows> read_soc_rows(std::string_view text, std::string_view name);

// Returns an error about a cell of a row. `column` is its name in the file.
[[nodiscard]] Error bad_soc_cell(std::string_view place, std::string_view column, std::string_view found,
                                 std::string_view remedy);

// Returns the non-empty words of a list separated by semicolons, without the blanks around them.
[[nodiscard]] std::vector<std::string> semicolon_words(std::string_view list);

// Returns the form in which part names are compared: ASCII letters as capitals, without blanks and line ends around the
// text.
[[nodiscard]] std::string part_key(std::string_view name);

}  // namespace fatctx::runtime
