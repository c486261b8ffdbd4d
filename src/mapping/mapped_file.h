// A file together with its map: a check looks at bytes where they are mapped already.
#pragma once

#include "mapping/mapped_region.h"
#include "mapping/read_only_file.h"

namespace fatctx::mapping {

// Reads like `file`. Ownership: borrows both; `region` maps `file` from byte 0 on and may be null.
class MappedFile final : public ReadOnlyFile {
 public:
  MappedFile(const OsFile& file, const MappedRegion* region) noexcept
      : file_(file), region_(region != nullptr && region->backed_by_file() ? region : nullptr) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    return file_.read_at(offset, buffer);
  }
  Result<bool> show(ByteRange range, const MappedPlace& mapped, const Look& look) const override {
    if (region_ == nullptr || !mapped.bytes.empty() || !within(range, region_->bytes().size())) {
      return file_.show(range, mapped, look);
    }
    return file_.show(
        range,
        {region_->bytes().subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size)),
         region_},
        look);
  }
  Result<FileIdentity> identity() const override { return file_.identity(); }
  int descriptor() const noexcept override { return file_.descriptor(); }
  std::uint64_t base() const noexcept override { return file_.base(); }
  ByteView memory() const noexcept override { return file_.memory(); }

 private:
  const OsFile& file_;
  const MappedRegion* region_;  // null: none, or of memory that is not the file's
};

}  // namespace fatctx::mapping
