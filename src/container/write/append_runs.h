// Finds bytes of new records at any offset in the segments of the file that they are appended to, and in each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "container/sharing/work_progress.h"
#include "container/write/plan.h"
#include "fatctx/packer.h"
#include "mapping/os_file.h"

namespace fatctx::container {

struct PresentSegment {
  std::size_t index = 0;  // in Plan::present
  ByteRange range;        // in the file
};

// Returns the indexes of the records that such a search may make smaller. Requires: find_present_bytes() has run.
[[nodiscard]] std::vector<std::size_t> records_for_runs(const Plan& plan);

// Replaces the slices that find_present_bytes() has found by recipes, if these store at least a 64th of the records
// less: a slice can be mapped, and a recipe cannot. `segments` are intact and in the order of the file; `free_slices`
// is the room in its slice table.
//
// Reads all segments. Memory: that of sharing::plan_bytes(). Errors: those of reading the inputs and the file.
[[nodiscard]] Status find_runs_in_file(Plan& plan, const mapping::OsFile& file,
                                       std::span<const PresentSegment> segments, std::uint64_t free_slices,
                                       const PackOptions& options, WorkProgress& progress);

}  // namespace fatctx::container
