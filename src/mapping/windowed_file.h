// Reads a part of a file as if it were a file: a container inside an application package.
#pragma once

#include <memory>

#include "mapping/read_only_file.h"

namespace fatctx::mapping {

// Returns the identity of a part of a file. `size` 0 means: to the end of the file. If the file is too short now, the
// size of the part is smaller.
[[nodiscard]] FileIdentity window_identity(FileIdentity file, std::uint64_t base, std::uint64_t size) noexcept;

// A file over a part of another one. Offsets of its calls and errors count from the first byte of the part.
class WindowedFile final : public ReadOnlyFile {
 public:
  WindowedFile(std::unique_ptr<OsFile> file, std::uint64_t base, std::uint64_t size)
      : file_(std::move(file)), base_(base), size_(size) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Result<bool> show(ByteRange range, const MappedPlace& mapped, const Look& look) const override;
  Result<FileIdentity> identity() const override;
  int descriptor() const noexcept override { return file_->descriptor(); }
  std::uint64_t base() const noexcept override { return base_; }

 private:
  std::unique_ptr<OsFile> file_;
  std::uint64_t base_;
  std::uint64_t size_;
};

}  // namespace fatctx::mapping
