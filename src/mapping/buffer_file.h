// Bytes in memory that are read as if they were a file, and "mapped" by handing them out as they are.
#pragma once

#include <memory>

#include "mapping/read_only_file.h"

namespace fatctx::mapping {

// Ownership: borrows `bytes`, and shares in `owner`, which may be null when the caller keeps the bytes himself.
class BufferFile final : public ReadOnlyFile {
 public:
  BufferFile(ByteView bytes, std::shared_ptr<const void> owner) : bytes_(bytes), owner_(std::move(owner)) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Result<FileIdentity> identity() const override;
  ByteView memory() const noexcept override { return bytes_; }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

 private:
  ByteView bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace fatctx::mapping
