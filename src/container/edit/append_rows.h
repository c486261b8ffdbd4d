// Builds the table of contents of the next generation.
#pragma once

#include <vector>

#include "container/read/parse.h"
#include "container/write/plan.h"
#include "container/write/toc_rows.h"

namespace fatctx::container {

// Returns the rows of the file with those that the plan adds. Segments that no record uses any more, the copies of the
// old table and the bytes skipped behind the old end become DEAD. Records that are `gone` (by index) are left out; the
// old generation gets a row of its own. `first_byte` is where the plan began. Requires: every hash of the plan is
// filled in, unless only the size of the result is used.
[[nodiscard]] TocRows rows_after_append(const Header& header, const Toc& toc, const Plan& plan,
                                        const std::vector<bool>& gone, std::uint64_t first_byte,
                                        const PackOptions& options);

}  // namespace fatctx::container
