// Finds the steps that make one file from others: copies of equal bytes at any offset, fills, and literals.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/sharing/record_bytes.h"
#include "container/sharing/work_progress.h"
#include "container/update/part_groups.h"
#include "container/update/step_models.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

struct FindSettings {
  // Where pieces of NEW begin, ascending, from 0 on: a copy from NEW itself reads only pieces before its own.
  std::vector<std::uint64_t> pieces;
  unsigned threads = 1;
};

// Returns steps that make `made` from front to back, the same for any number of threads. No step crosses the end of a
// part (update_format.h), nor that of a range of a group, and each copy stays in its group. `olds` are the sources 1,
// 2, … Counts the bytes of OLD, once for each group that may copy them, and those of NEW.
//
// Memory: at most 0.36 bytes for each byte of OLD and each new byte, 6 MiB a thread, and 40 bytes a step. Time: each
// byte of NEW, and each of OLD for each group, is hashed once, and compared once or twice. Errors: cancelled, those of
// reading.
[[nodiscard]] Result<std::vector<UpdateStep>> find_steps(std::span<const sharing::RecordBytes* const> olds,
                                                         const sharing::RecordBytes& made, const PartGroups& groups,
                                                         const FindSettings& settings, WorkProgress& progress);

}  // namespace fatctx::container
