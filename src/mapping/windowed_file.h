// A part of a file that is read as if it were a file: a container inside an application package.
#pragma once

#include <memory>

#include "mapping/read_only_file.h"

namespace fatctx::mapping {

// How the part of a file looks, given how the file looks. `size` 0 means: to the end of the file. A file that is too
// short now gives the smaller size that is left.
[[nodiscard]] FileIdentity window_identity(FileIdentity file, std::uint64_t base, std::uint64_t size) noexcept;

// Offsets of its calls and errors count from the first byte of the part.
class WindowedFile final : public ReadOnlyFile {
 public:
  WindowedFile(std::unique_ptr<OsFile> file, std::uint64_t base, std::uint64_t size)
      : file_(std::move(file)), base_(base), size_(size) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Result<FileIdentity> identity() const override;
  int descriptor() const noexcept override { return file_->descriptor(); }
  std::uint64_t base() const noexcept override { return base_; }

 private:
  std::unique_ptr<OsFile> file_;
  std::uint64_t base_;
  std::uint64_t size_;
};

}  // namespace fatctx::mapping
