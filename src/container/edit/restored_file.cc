#include "container/edit/restored_file.h"

#include <algorithm>

namespace fatctx::container {

Status PaddedFile::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  if (!within({offset, buffer.size()}, size_)) return file_.read_at(offset, buffer);
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file_.identity());
  const std::uint64_t there = identity.size - std::min(identity.size, offset);
  const auto stored = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), there));
  std::fill(buffer.begin() + static_cast<std::ptrdiff_t>(stored), buffer.end(), std::byte{0});
  return stored == 0 ? Status(Done{}) : file_.read_at(offset, buffer.first(stored));
}

Result<mapping::FileIdentity> PaddedFile::identity() const {
  FATCTX_ASSIGN(mapping::FileIdentity identity, file_.identity());
  identity.size = std::max(identity.size, size_);
  return identity;
}

Status RestoredFile::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  FATCTX_TRY(file_.read_at(offset, buffer));
  for (const Restoration& restoration : restorations_) {
    const ByteRange range = restoration.range;
    const std::uint64_t first = std::max(offset, range.offset);
    const std::uint64_t end = std::min(offset + buffer.size(), range.offset + range.size);
    if (first >= end) continue;
    FATCTX_ASSIGN(const std::vector<std::byte> bytes, bytes_of(file_, restoration));
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(first - range.offset);
    std::copy_n(from, end - first, buffer.begin() + static_cast<std::ptrdiff_t>(first - offset));
  }
  return Done{};
}

}  // namespace fatctx::container
