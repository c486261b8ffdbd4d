// Chooses the rows of a view by patterns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fatctx::tools {

// Returns true if `text` fits the pattern as a whole: `*` stands for any text, `?` for one byte. Upper and lower case
// of ASCII letters are the same. An empty pattern fits everything. Cost: at most the product of both lengths.
[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view text) noexcept;

// The patterns that choose what `info` shows; empty ones choose everything.
struct ViewFilter {
  std::string record;
  std::string type;  // of records and tensors
  std::string target;
  std::string graph;
  std::string op;
  bool by_size = false;  // largest first

  [[nodiscard]] bool any_of_records() const noexcept { return !record.empty() || !type.empty() || !target.empty(); }
};

}  // namespace fatctx::tools
