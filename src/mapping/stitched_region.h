// Parts of one file side by side in one range of addresses, as if they followed each other in the file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "mapping/mapped_region.h"
#include "mapping/sealed_memory.h"

namespace fatctx::mapping {

struct FilePiece {  // offset from the first byte of the OsFile
  std::uint64_t file_offset = 0;
  std::uint64_t size = 0;
};

// unsupported, saying which piece cannot be mapped beside the others on a system with pages of `page_bytes`; Done if
// all can: each begins at a page of the file behind the descriptor, and each but the last one ends at one.
[[nodiscard]] Status check_stitchable(const OsFile& file, std::span<const FilePiece> pieces, std::uint64_t page_bytes);

// Maps the pieces shared and read-only, left out of core dumps, all or none of them: a failure leaves nothing. bytes()
// is as long as the pieces are; behind it the last page shows what follows in the file. The guard of bus_guard.h
// watches the range; with the first byte that goes away it sets `also_lost` too, which must outlive the region. Must
// not be null.
// Requires: check_stitchable() with the pages of this system.
// Errors:   those of map_file; what has been mapped until then is undone.
// Cost:     one system call a piece; a map of the process for each piece, which the system limits (map_count.h).
[[nodiscard]] Result<std::unique_ptr<MappedRegion>> map_stitched(const OsFile& file, std::span<const FilePiece> pieces,
                                                                 std::atomic<bool>* also_lost);

struct MixedPiece {
  bool built = false;        // true: of the built memory; false: of the file
  std::uint64_t offset = 0;  // in the one or the other
  std::uint64_t size = 0;
};

// The same with pieces of the file and of memory that was built and sealed, whose own map may go afterwards. Null, if
// there is no built piece.
// Requires: each piece begins at a page of what it is a piece of, and each but the last one ends at one.
[[nodiscard]] Result<std::unique_ptr<MappedRegion>> map_mixed(const OsFile& file, std::span<const MixedPiece> pieces,
                                                              const SealableBlock* built, std::atomic<bool>* also_lost);

}  // namespace fatctx::mapping
