// Damaged copies of metadata, and what belongs in their place: bytes of a good copy, or leaf hashes that the payload
// gives and the table of contents confirms. Nothing here is made up. For the appender and for repair.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "container/read/open.h"

namespace fatctx::container {

// One range of the file that is wrong, and what it has to be.
struct Restoration {
  std::string what;               // "slot A1", "toc copy 0"
  ByteRange range;                // in the file
  std::vector<std::byte> bytes;   // of a page or of leaf hashes; empty for a table of contents
  std::uint64_t copy_from = 0;    // where the good copy of a table lies; only without `bytes`
  std::optional<Hash128> hash{};  // of that copy
};

// Of the copies in `degraded` (bits of Degraded) those whose other copy is good: prologues, slots of both pairs,
// padding of the header, tables of contents. Reads the header only. Errors: io, truncated.
[[nodiscard]] Result<std::vector<Restoration>> restorations_of(const mapping::OsFile& file, const Header& header,
                                                               std::uint32_t degraded);
// Returns the slots of a pair that failed syncs left behind (kDegradedOlderPair), as the table's row of the generation
// before the newest gives them, without its signature. Empty if the table lists no such generation.
[[nodiscard]] std::vector<Restoration> restorations_of_older_pair(const OpenedToc& opened);
// Copies of the tables of earlier generations, and ranges of leaf hashes. Reads all of both, and the payload under leaf
// hashes that are damaged; what cannot be restored is left out. Errors: io, truncated, no_resource.
[[nodiscard]] Result<std::vector<Restoration>> restorations_behind_header(const mapping::OsFile& file, const Toc& toc);

// The bytes that belong in its place. Errors: changed (the good copy is not what it was), io, truncated.
[[nodiscard]] Result<std::vector<std::byte>> bytes_of(const mapping::OsFile& file, const Restoration& restoration);

// Writes one range at a time and syncs it before it touches the next: a crash can tear only what was damaged before.
// If a write or sync fails, it writes the damaged bytes back: the system may have dropped the cure and still show it
// from its cache, and the next look must find the damage. Errors: io, no_space, changed; the file is then as good as
// before, or better.
[[nodiscard]] Status restore(mapping::OsFile& file, const std::vector<Restoration>& restorations);

// Writes all slots again as they read. After a sync that failed in another process a slot may exist in the page cache
// only. First one mirror of the present pair, then the other, then the older pair, each with a sync of its own: a crash
// may spoil every page that is being written, and never both mirrors. If the sync of the second mirror fails, it is
// made bad for reads as well. Requires: restore() has run. Errors: io, no_space.
[[nodiscard]] Status write_slots_again(mapping::OsFile& file, const Header& header);

}  // namespace fatctx::container
