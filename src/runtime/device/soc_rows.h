// A table of SoCs as text: from cells to checked values, row by row. What rows mean together is soc_table.cc's matter.
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
  std::vector<std::uint32_t> boundaries;  // ascending, each once
  std::vector<SocQuirkRow> quirks;
  std::vector<SocRow> rows;
};

// Errors: invalid_argument, with name, line and column, what was found and what is allowed.
[[nodiscard]] Result<SocRows> read_soc_rows(std::string_view text, std::string_view name);

// A complaint about a cell of a row; `column` as the file calls it.
[[nodiscard]] Error bad_soc_cell(std::string_view place, std::string_view column, std::string_view found,
                                 std::string_view remedy);

// The words of a list that is separated by semicolons, without blanks around them and without empty ones.
[[nodiscard]] std::vector<std::string> semicolon_words(std::string_view list);

// ASCII letters as capitals, blanks and line ends around the text dropped: how part names are compared.
[[nodiscard]] std::string part_key(std::string_view name);

}  // namespace fatctx::runtime
