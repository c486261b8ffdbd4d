// Makes a container by an update, as far as the old files that are here have the bytes.
#pragma once

#include <atomic>
#include <vector>

#include "container/fetch/seed_leaves.h"
#include "container/fetch/wanted_leaves.h"
#include "container/sharing/work_progress.h"
#include "container/update/update_file.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Follows the steps of an update and hands the bytes of missing leaves to `wanted`, as guesses. `seeds` may be partial,
// and some of the old files may not be among them: then it leaves out the bytes that come from there.
// `file`: an empty one for the bytes of NEW. Requires: `wanted` is of the container that the update makes.
//
// Time: linear in the size of NEW and of the old files. Memory: 1 MiB, a part of the update, and 64 bytes for each
// place from which bytes are left out, at most 16 MiB.
// Errors: changed (none of the seeds is one of the old files), limit_exceeded (as UpdateFile::check_size()), malformed
// and others of reading an update, cancelled, no_space, io.
[[nodiscard]] Status guess_by_update(UpdateFile& update, const std::vector<Seed>& seeds, mapping::OsFile& file,
                                     WantedLeaves& wanted, WorkProgress& progress, const std::atomic<bool>* cancel);

}  // namespace fatctx::container
