// Writes zeros where a filesystem cannot make a hole.
#pragma once

#include <algorithm>
#include <vector>

#include "mapping/os_file.h"

namespace fatctx::mapping {

// Errors: no_space, io.
[[nodiscard]] inline Status write_zeros(OsFile& file, ByteRange range) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
  const std::vector<std::byte> zeros(static_cast<std::size_t>(std::min(range.size, kPiece)));
  for (std::uint64_t done = 0; done < range.size; done += kPiece) {
    const auto size = static_cast<std::size_t>(std::min(range.size - done, kPiece));
    FATCTX_TRY(file.write_at(range.offset + done, ByteView(zeros).first(size)));
  }
  return Done{};
}

}  // namespace fatctx::mapping
