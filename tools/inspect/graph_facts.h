// Says in words what a compiler states about a graph in its own terms.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

}  // namespace fatctx::tools
