// A file in the state that a repair gives it, before anything is written.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/edit/restore.h"
#include "mapping/read_only_file.h"

namespace fatctx::container {

// A file that was cut, at its former size: what it lacks reads as zeros. Ownership: borrows the file.
class PaddedFile final : public mapping::ReadOnlyFile {
 public:
  PaddedFile(const mapping::OsFile& file, std::uint64_t size) : file_(file), size_(size) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Result<mapping::FileIdentity> identity() const override;

 private:
  const mapping::OsFile& file_;
  std::uint64_t size_;
};

// Shows the restorations where they belong. Ownership: borrows the file and the list.
class RestoredFile final : public mapping::ReadOnlyFile {
 public:
  RestoredFile(const mapping::OsFile& file, const std::vector<Restoration>& restorations)
      : file_(file), restorations_(restorations) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Result<mapping::FileIdentity> identity() const override { return file_.identity(); }

 private:
  const mapping::OsFile& file_;
  const std::vector<Restoration>& restorations_;
};

}  // namespace fatctx::container
