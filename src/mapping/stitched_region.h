// Maps parts of one file side by side in one range of addresses, as if they were adjacent in the file.
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

// Returns unsupported, naming the first piece that cannot be mapped beside the others on a system with pages of
// `page_bytes`. Each piece must begin at a page of the file behind the descriptor, and each but the last must end at
// one.
[[nodiscard]] Status check_stitchable(const OsFile& file, std::span<const FilePiece> pieces, std::uint64_t page_bytes);

// Maps the pieces shared and read-only, excluded from core dumps: all of them, or none after an error. bytes() has the
// size of the pieces. Behind it, the last page shows the following bytes of the file. The guard of bus_guard.h watches
// the range. With the first lost byte it also sets `also_lost`, which must not be null and must outlive the region.
// Requires: check_stitchable() with the pages of this system.
// Errors: those of map_file; the pieces mapped before the error are unmapped.
// Cost: at most one system call a piece; a map of the process for each piece, which the system limits (map_count.h).
[[nodiscard]] Result<std::unique_ptr<MappedRegion>> map_stitched(const OsFile& file, std::span<const FilePiece> pieces,
                                                                 std::atomic<bool>* also_lost);

struct MixedPiece {
  bool built = false;        // true: of a sealed block; false: of the file
  std::uint64_t offset = 0;  // in the block or the file
  std::uint64_t size = 0;
  std::uint8_t block = 0;  // which one, if it is of a block
};

// Maps pieces of the file and of built and sealed blocks in the same way. The own maps of blocks may end afterwards.
// `built` points to the blocks that pieces name; it is null if no piece is of a block.
// Requires: each piece begins at a page of its source, and each but the last one ends at one.
[[nodiscard]] Result<std::unique_ptr<MappedRegion>> map_mixed(const OsFile& file, std::span<const MixedPiece> pieces,
                                                              const SealableBlock* built, std::atomic<bool>* also_lost);

}  // namespace fatctx::mapping
