// Writes over bytes of a file that were bad anyway, and syncs them in batches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mapping/os_file.h"

namespace fatctx::container {

// A file whose writes are on the disk after sync(), and after each 16 MiB. A write or a sync that fails makes zeros of
// the bytes that are not known to be on the disk: the cache may show them nevertheless, and the next look must find
// that they are lacking (docs/decisions/0020).
//
// Ownership: borrows the file. Threads: one at a time.
class SyncedFile final : public mapping::OsFile {
 public:
  explicit SyncedFile(mapping::OsFile& file) : file_(file) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    return file_.read_at(offset, buffer);
  }
  Status write_at(std::uint64_t offset, ByteView bytes) override;
  Status allocate(std::uint64_t size) override { return file_.allocate(size); }
  Status sync() override;
  Result<mapping::FileIdentity> identity() const override { return file_.identity(); }
  int descriptor() const noexcept override { return file_.descriptor(); }
  std::uint64_t base() const noexcept override { return file_.base(); }

 private:
  void take_back();

  mapping::OsFile& file_;
  std::vector<ByteRange> fresh_;  // written, and not synced
  std::uint64_t fresh_bytes_ = 0;
};

}  // namespace fatctx::container
