// Finds damaged copies of metadata and restores them from a good copy. Leaf hashes can also be computed from the
// payload, if the table of contents confirms them. Nothing is guessed. Used by the appender and by repair.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "container/read/open.h"

namespace fatctx::container {

// A damaged range of the file and its right contents.
struct Restoration {
  std::string what;                  // "slot A1", "toc copy 0"
  ByteRange range;                   // in the file
  std::vector<std::byte> bytes;      // empty for a table of contents
  std::optional<Header> table = {};  // both copies of it, from which its bytes are made
};

// Returns those copies in `degraded` (bits of Degraded) whose other copy is good: prologues, slots of both pairs,
// padding of the header, tables of contents (page by page). Errors: io, truncated.
[[nodiscard]] Result<std::vector<Restoration>> restorations_of(const mapping::OsFile& file, const Header& header,
                                                               std::uint32_t degraded);
// Returns the slots of a pair that is too old because syncs failed (kDegradedOlderPair). Their contents follow from the
// table's row of the generation before the newest, without its signature. Empty if the table lists no such generation.
[[nodiscard]] std::vector<Restoration> restorations_of_older_pair(const OpenedToc& opened);
// Returns damaged copies of earlier generations' tables, and damaged ranges of leaf hashes. Reads all of both, and the
// payload of damaged leaf hashes. Leaves out copies that cannot be restored. Errors: io, truncated, no_resource.
[[nodiscard]] Result<std::vector<Restoration>> restorations_behind_header(const mapping::OsFile& file, const Toc& toc);

// Returns the right contents of the range. Errors: changed (no copy of the table is good any more), io, truncated.
[[nodiscard]] Result<std::vector<std::byte>> bytes_of(const mapping::OsFile& file, const Restoration& restoration);

// Writes one range at a time and syncs it before it touches the next: a crash can tear only a range that was damaged
// before. If a write or sync fails, it writes the damaged bytes back. The system may have dropped the repaired page and
// still show it from its cache, and the next check must find the damage. Errors: io, no_space, changed; the file is
// then as good as before, or better.
[[nodiscard]] Status restore(mapping::OsFile& file, const std::vector<Restoration>& restorations);

// Writes all slots again with their present contents. After a sync that failed in another process, a slot may exist in
// the page cache only. Writes first one mirror of the present pair, then the other, then the older pair, and syncs
// after each. A crash may spoil every page that is being written, but never both mirrors. If the sync of the second
// mirror fails, it is made bad for reads as well. Requires: restore() has run. Errors: io, no_space.
[[nodiscard]] Status write_slots_again(mapping::OsFile& file, const Header& header);

}  // namespace fatctx::container
