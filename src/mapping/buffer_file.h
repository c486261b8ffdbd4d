// Reads bytes in memory as if they were a file; "mapping" them returns the bytes themselves.
#pragma once

#include <memory>

#include "mapping/read_only_file.h"

namespace fatctx::mapping {

// A file over a buffer. Ownership: borrows `bytes`, and shares in `owner`. `owner` may be null if the caller keeps the
// bytes alive.
class BufferFile final : public ReadOnlyFile {
 public:
  BufferFile(ByteView bytes, std::shared_ptr<const void> owner) : bytes_(bytes), owner_(std::move(owner)) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Result<bool> show(ByteRange range, const MappedPlace& mapped, const Look& look) const override;
  Result<FileIdentity> identity() const override;
  ByteView memory() const noexcept override { return bytes_; }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

 private:
  ByteView bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace fatctx::mapping
