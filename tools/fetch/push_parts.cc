#include "tools/fetch/push_parts.h"

#include <algorithm>

namespace fatctx::tools {
namespace {

std::vector<ByteRange> parts_of_sizes(std::span<const FileExtent> extents, std::uint64_t file_size, std::uint64_t least,
                                      std::uint64_t most) {
  std::vector<ByteRange> parts;
  std::uint64_t done = 0;
  const auto end_part = [&](std::uint64_t end) {
    if (end > done) parts.push_back({done, end - done});
    done = std::max(done, end);
  };
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const FileExtent& extent = extents[i];
    const bool of_its_own = extent.kind == "payload" && extent.range.size >= least && extent.range.offset >= done;
    if (!of_its_own) continue;
    end_part(extent.range.offset);
    // The padding behind a segment goes with it: it is the same wherever the segment is.
    const std::uint64_t end = i + 1 < extents.size() ? extents[i + 1].range.offset : file_size;
    while (end - done > most) end_part(done + most);
    end_part(end);
  }
  end_part(file_size);
  return parts;
}

}  // namespace

std::vector<ByteRange> push_parts(std::span<const FileExtent> extents, std::uint64_t file_size) {
  for (std::uint64_t factor = 1;; factor *= 2) {
    std::vector<ByteRange> parts = parts_of_sizes(extents, file_size, kLeastPart * factor, kMostPart * factor);
    if (parts.size() <= kMostParts) return parts;
  }
}

}  // namespace fatctx::tools
