// Finds damaged copies of metadata and restores them from a good copy. Leaf hashes can also be computed from the
// payload, if the table of contents confirms them. Nothing is guessed. Used by the appender and by repair.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "container/read/open.h"

namespace fatctx::container {

// A damaged range of the file and its right contents.
struct Restoration {
  std::string what;                  // "slot A1", "toc copy 0"
  ByteRange range;                   // in the file
  std::vector<std::byte> bytes;      // empty for a table of contents, and for zeros
  std::optional<Header> table = {};  // both copies of it, from which its bytes are made
};

// Returns text such as: leaf hashes of record 5 "weights". The record is the first with bytes in the segment.
[[nodiscard]] std::string name_of_leaf_hashes(const Toc& toc, std::uint32_t segment);

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

// Returns padding between segments and tables that is not zero. Padding inside a segment is left to its leaf hashes.
// Errors: io, truncated.
[[nodiscard]] Result<std::vector<Restoration>> restorations_of_padding(const mapping::OsFile& file,
                                                                       const OpenedToc& opened);

// Returns the right contents of the range. Errors: changed (no copy of the table is good any more), io, truncated.
[[nodiscard]] Result<std::vector<std::byte>> bytes_of(const mapping::OsFile& file, const Restoration& restoration);

// Writes one range at a time and syncs it before it touches the next: a crash can tear only a range that was damaged
// before, and lose only its page. If a write or sync fails, it writes the damaged bytes back. The system may have
// dropped the repaired page and still show it from its cache, and the next check must find the damage. Sectors that the
// header relies on in the same page are made bad for reads too: their other copies are good. Errors: io, no_space,
// changed; the file then still opens as before.
[[nodiscard]] Status restore(mapping::OsFile& file, const Header& header, std::span<const Restoration> restorations);

// Writes one slot again with its present contents, and the prologue in the same page if one is there. A commit relies
// only on bytes that it has synced itself: after a failed sync, the kernel may drop a dirty page and still return it
// from the page cache (docs/decisions/0020). The failed write may have cost the whole page on the disk. Errors: io,
// no_space.
[[nodiscard]] Status write_slot_again(mapping::OsFile& file, const Header& header, std::size_t slot);

// Write the slots of one pair and the prologues beside them again. After a sync that failed in another process, they
// may exist in the page cache only. The present pair comes before everything else that a repair writes, except its own
// damaged sectors: it may be on the disk nowhere yet. Its mirrors are written and synced one after the other, and the
// older pair is written last. So a crash may spoil every page that is being written, but never both mirrors or both
// prologues. If a sync fails, the sectors that later writers would rely on are made bad for reads. Errors: io,
// no_space.
[[nodiscard]] Status write_present_pair_again(mapping::OsFile& file, const Header& header);
[[nodiscard]] Status write_older_pair_again(mapping::OsFile& file, const Header& header);

}  // namespace fatctx::container
