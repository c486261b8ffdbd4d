// The real OsFile, for the files of this folder only.
#pragma once

#include <string>

#include "mapping/os_file.h"
#include "mapping/still_file.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {

class PosixFile final : public OsFile {
 public:
  // Errors call the file `name`. `lease`: kAllowed only for a descriptor that this object alone uses.
  PosixFile(UniqueFd fd, std::string name, Lease lease = Lease::kNever)
      : fd_(std::move(fd)), name_(std::move(name)), still_(lease) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Result<bool> show(ByteRange range, const MappedPlace& mapped, const Look& look) const override;
  Status write_at(std::uint64_t offset, ByteView bytes) override;
  Status allocate(std::uint64_t size) override;
  Status sync() override;
  Result<FileIdentity> identity() const override;
  int descriptor() const noexcept override { return fd_.get(); }

  Status close();  // returns the error of close()

 private:
  UniqueFd fd_;
  std::string name_;
  mutable StillFile still_;
};

}  // namespace fatctx::mapping
