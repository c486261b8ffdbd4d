#include "mapping/stitched_region.h"

#include <vector>

#include <fmt/format.h>

namespace fatctx::mapping {

Status check_stitchable(const OsFile& file, std::span<const FilePiece> pieces, std::uint64_t page_bytes) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const FilePiece& piece = pieces[i];
    const bool last = i + 1 == pieces.size();
    if ((file.base() + piece.file_offset) % page_bytes == 0 && (last || piece.size % page_bytes == 0)) continue;
    return Error{ErrorCode::kUnsupported,
                 fmt::format("a piece of {} bytes at byte {:#x} is not whole pages, which have {} bytes on this system",
                             piece.size, piece.file_offset, page_bytes),
                 {.file_offset = piece.file_offset}};
  }
  return Done{};
}

Result<std::unique_ptr<MappedRegion>> map_stitched(const OsFile& file, std::span<const FilePiece> pieces,
                                                   std::atomic<bool>* also_lost) {
  std::vector<MixedPiece> of_file;
  of_file.reserve(pieces.size());
  for (const FilePiece& piece : pieces) of_file.push_back({false, piece.file_offset, piece.size});
  return map_mixed(file, of_file, nullptr, also_lost);
}

}  // namespace fatctx::mapping
