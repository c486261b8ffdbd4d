#include "mapping/windowed_file.h"

#include <algorithm>

#include <fmt/format.h>

namespace fatctx::mapping {
FileIdentity window_identity(FileIdentity file, std::uint64_t base, std::uint64_t size) noexcept {
  const std::uint64_t left = file.size > base ? file.size - base : 0;
  file.size = size == 0 ? left : std::min(size, left);
  file.base = base;
  return file;
}

Status WindowedFile::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  if (size_ != 0 && !within({offset, buffer.size()}, size_)) {
    return Error{ErrorCode::kTruncated,
                 fmt::format("the part of the file ends at byte {}, before byte {}", size_, offset + buffer.size()),
                 {.file_offset = offset}};
  }
  Status status = file_->read_at(base_ + offset, buffer);
  if (status.ok()) return status;
  Error error = std::move(status).error();
  error.where.file_offset = offset;
  return error;
}

Result<bool> WindowedFile::show(ByteRange range, const MappedPlace& mapped, const Look& look) const {
  if (size_ != 0 && !within(range, size_)) return false;  // the read says so
  return file_->show({base_ + range.offset, range.size}, mapped, look);
}

Result<FileIdentity> WindowedFile::identity() const {
  FATCTX_ASSIGN(const FileIdentity file, file_->identity());
  return window_identity(file, base_, size_);
}

}  // namespace fatctx::mapping
