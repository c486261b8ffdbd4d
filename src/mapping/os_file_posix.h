// The real OsFile, for the files of this folder only.
#pragma once

#include <string>

#include "mapping/os_file.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {

class PosixFile final : public OsFile {
 public:
  // Errors call the file `name`.
  PosixFile(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Status write_at(std::uint64_t offset, ByteView bytes) override;
  Status allocate(std::uint64_t size) override;
  Status sync() override;
  Result<FileIdentity> identity() const override;
  int descriptor() const noexcept override { return fd_.get(); }

  Status close();  // returns the error of close()

 private:
  UniqueFd fd_;
  std::string name_;
};

}  // namespace fatctx::mapping
