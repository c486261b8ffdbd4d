// Segments read and compared with their leaf hashes, on several threads; what that means is for verify to say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "container/check/check_progress.h"
#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "mapping/os_file.h"

namespace fatctx::container {

struct SegmentWork {
  std::uint32_t segment = 0;
  LeafRange leaves;         // nothing in a LEAVES segment, which is hashed as a whole
  bool whole_hash = false;  // also the hash of all of it; only with all leaves
};

struct SegmentOutcome {
  std::optional<Error> leaves_damaged;  // its leaf hashes are not what the table says; no payload was compared
  std::vector<LeafRange> damaged;       // leaves that do not match, ascending, neighbours joined
  std::optional<Hash128> hash;          // of a LEAVES segment, and with whole_hash
  std::optional<DiskSha256> sha256;     // with whole_hash, where SHA-256 counts
};

// One outcome per item of `work`, the same for any number of threads. `which` as for read_leaves(), and not SHA-256
// alone. Bytes that were compared count as progress.
// Errors: truncated, io, no_resource, cancelled.
[[nodiscard]] Result<std::vector<SegmentOutcome>> check_segments(const mapping::OsFile& file, const Toc& toc,
                                                                 std::span<const SegmentWork> work, LeafHash which,
                                                                 unsigned threads, CheckProgress& progress);

}  // namespace fatctx::container
