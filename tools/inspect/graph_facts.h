// Says in words what a compiler states about a graph in its own terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "fatctx/description.h"

namespace fatctx::tools {

// Returns lines, indented by four blanks: how the graph was compiled (optimisation level, threads, cores, DLBC, VTCM),
// the memory that its parts take, and the facts that have no words here, under their own names. Breaks lines at
// `width`, if that is not 0. Empty for a graph without facts.
[[nodiscard]] std::string graph_facts_text(const std::vector<DescribedOption>& facts, std::size_t width);

// Returns lines, indented by two blanks: what made a binary, and what the QNN compiler states about it among `facts`.
// Empty if nothing is stated.
[[nodiscard]] std::string producer_text(const std::string& producer, const std::vector<DescribedOption>& facts,
                                        std::size_t width);

// Returns a line for each fact that a file states of itself, such as the command of a converter.
[[nodiscard]] std::string said_facts_text(const std::vector<DescribedOption>& facts, std::size_t width);

// The operators of the converted model that a graph has, by number; nothing for an end that is not stated.
struct OpRange {
  std::string binary;  // the name of a record or an entry
  std::optional<std::uint32_t> record;
  std::string graph;
  std::optional<std::uint64_t> first;
  std::optional<std::uint64_t> last;
};

// Returns the range that the compiler states of `graph`; nothing, if it states neither end.
[[nodiscard]] std::optional<OpRange> op_range(std::string binary, const DescribedGraph& graph);

[[nodiscard]] std::string op_ranges_text(const std::vector<OpRange>& ranges, std::size_t width);
// Returns a table; its first column has the title `binaries`.
[[nodiscard]] std::string op_ranges_csv(const std::vector<OpRange>& ranges, const std::string& binaries);
// Returns a list. An item has the number of the record, or else the name of the entry.
[[nodiscard]] Json op_ranges_json(const std::vector<OpRange>& ranges);

}  // namespace fatctx::tools
