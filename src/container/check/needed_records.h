// The records that a reader of some records needs beside them.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "container/read/parse.h"

namespace fatctx::container {

// Returns the records and the description.
[[nodiscard]] std::set<std::uint32_t> with_description(const Toc& toc, const std::vector<std::uint32_t>& ids);

// Returns the records, the description, their weights, and the tensor tables of all of them.
[[nodiscard]] std::set<std::uint32_t> with_what_they_need(const Toc& toc, const std::vector<std::uint32_t>& ids);

}  // namespace fatctx::container
