// The table of contents of a generation that follows another.
#pragma once

#include <vector>

#include "container/read/parse.h"
#include "container/write/plan.h"
#include "container/write/toc_rows.h"

namespace fatctx::container {

// What the file has, with what the plan adds. Segments that no record uses any more, the copies of the old table and
// what was skipped behind the old end become DEAD, records that are `gone` (by their index) are left out; the old
// generation gets a row of its own. `first_byte` is where the plan began. Requires: every hash of the plan is filled
// in, or only the size of the result counts.
[[nodiscard]] TocRows rows_after_append(const Header& header, const Toc& toc, const Plan& plan,
                                        const std::vector<bool>& gone, std::uint64_t first_byte,
                                        const PackOptions& options);

}  // namespace fatctx::container
