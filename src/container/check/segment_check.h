// Reads segments and compares them with their leaf hashes, on several threads; verify judges the outcome.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "container/sharing/work_progress.h"
#include "mapping/os_file.h"

namespace fatctx::container {

struct SegmentWork {
  std::uint32_t segment = 0;
  LeafRange leaves;         // empty for a LEAVES segment, which is hashed as a whole
  bool whole_hash = false;  // also hash the whole segment; only with all leaves
};

struct SegmentOutcome {
  std::optional<Error> leaves_damaged;  // its leaf hashes do not match the table, or are not present; no payload was
                                        // compared
  std::vector<LeafRange> damaged;       // leaves that do not match: ascending, adjacent ones joined
  // The same of leaves that are zeros and should not be. If the leaf hashes are not present, of all that are zeros.
  std::vector<LeafRange> absent;
  std::optional<Hash128> hash;       // set for a LEAVES segment, and with whole_hash
  std::optional<DiskSha256> sha256;  // with whole_hash, if SHA-256 is used
};

// Returns one outcome per item of `work`, the same for any number of threads. `which` as for read_leaves(), but not
// SHA-256 alone. Compared bytes count as progress.
// Errors: truncated, io, no_resource, cancelled.
[[nodiscard]] Result<std::vector<SegmentOutcome>> check_segments(const mapping::OsFile& file, const Toc& toc,
                                                                 std::span<const SegmentWork> work, LeafHash which,
                                                                 unsigned threads, WorkProgress& progress);

}  // namespace fatctx::container
