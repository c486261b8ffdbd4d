// The real OsFile on Windows, for the files of this folder only.
#pragma once

#include <string>

#include "mapping/os_file.h"
#include "mapping/unique_handle.h"

namespace fatctx::mapping {

// Converts from units of 100 ns since 1601.
[[nodiscard]] FileTime time_of_ticks(std::int64_t ticks) noexcept;

// Returns whether the handle is one of a symbolic link or a junction, opened without following it.
[[nodiscard]] bool is_link(void* handle) noexcept;

class Win32File final : public OsFile {
 public:
  // Errors call the file `name`.
  Win32File(UniqueHandle handle, std::string name) : handle_(std::move(handle)), name_(std::move(name)) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Status write_at(std::uint64_t offset, ByteView bytes) override;
  Status allocate(std::uint64_t size) override;
  Status sync() override;
  Result<FileIdentity> identity() const override;
  int descriptor() const noexcept override { return descriptor_of(handle_.get()); }

  [[nodiscard]] void* handle() const noexcept { return handle_.get(); }
  Status close();  // returns the error of closing

 private:
  UniqueHandle handle_;
  std::string name_;
};

}  // namespace fatctx::mapping
