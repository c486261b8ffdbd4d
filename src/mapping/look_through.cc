#include "mapping/look_through.h"

#include <algorithm>
#include <memory>

namespace fatctx::mapping {
namespace {

// In place, a piece is the time for which a writer may have to wait. Copies stay in the processor's cache.
constexpr std::uint64_t kShownPiece = std::uint64_t{4} << 20;
constexpr std::uint64_t kReadPiece = std::uint64_t{1} << 20;

}  // namespace

Status look_through(const OsFile& file, ByteRange range, const Look& look, const AfterPiece& after) {
  std::unique_ptr<std::byte[]> buffer;
  for (std::uint64_t at = 0; at < range.size;) {
    const std::uint64_t size = std::min(kShownPiece, range.size - at);
    FATCTX_ASSIGN(const bool shown, file.show({range.offset + at, size}, {}, look));
    if (shown) {
      FATCTX_TRY(after(size));
      at += size;
      continue;
    }
    const auto most = static_cast<std::size_t>(std::min(range.size, kReadPiece));
    if (!buffer) buffer = std::make_unique_for_overwrite<std::byte[]>(most);
    for (const std::uint64_t end = at + size; at < end;) {
      const std::span<std::byte> piece(buffer.get(), static_cast<std::size_t>(std::min<std::uint64_t>(most, end - at)));
      FATCTX_TRY(file.read_at(range.offset + at, piece));
      look(piece);
      FATCTX_TRY(after(piece.size()));
      at += piece.size();
    }
  }
  return Done{};
}

}  // namespace fatctx::mapping
