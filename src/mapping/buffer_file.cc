#include "mapping/buffer_file.h"

#include <algorithm>

#include <fmt/format.h>

namespace fatctx::mapping {
Status BufferFile::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  if (!within({offset, buffer.size()}, bytes_.size())) {
    return Error{
        ErrorCode::kTruncated, fmt::format("the buffer ends at byte {}", bytes_.size()), {.file_offset = offset}};
  }
  const ByteView from = bytes_.subspan(static_cast<std::size_t>(offset), buffer.size());
  std::copy(from.begin(), from.end(), buffer.begin());
  return Done{};
}

Result<bool> BufferFile::show(ByteRange range, const MappedPlace& /*mapped*/, const Look& look) const {
  if (!within(range, bytes_.size())) return false;  // the read says so
  look(bytes_.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size)));
  return true;
}

Result<FileIdentity> BufferFile::identity() const {
  FileIdentity identity;
  identity.size = bytes_.size();
  identity.regular = true;
  return identity;
}

}  // namespace fatctx::mapping
