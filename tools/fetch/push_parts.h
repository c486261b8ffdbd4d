// How a container is cut into the blobs of a registry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/info.h"

namespace fatctx::tools {

inline constexpr std::uint64_t kLeastPart = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kMostPart = std::uint64_t{64} << 20U;
inline constexpr std::size_t kMostParts = 256;

// Returns ranges that follow each other and together are the file. A segment of payload of 1 MiB or more has parts of
// its own, of at most 64 MiB from its first byte on, with the padding behind it. So it is stored once wherever it is in
// a file. The bytes between two of them are a part too. With more than 256 parts, both sizes are doubled until there
// are no more.
[[nodiscard]] std::vector<ByteRange> push_parts(std::span<const FileExtent> extents, std::uint64_t file_size);

}  // namespace fatctx::tools
