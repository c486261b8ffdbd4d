// Reads past the page cache, and learns which pages are in it: for copies that nobody reads through the cache again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "mapping/os_file.h"

namespace fatctx::mapping {

// A file opened once more, for direct reads. Threads: any number.
class DirectFile {
 public:
  virtual ~DirectFile() = default;
  // Returns null if the system, the filesystem or a sandbox has no direct reads of this file. Offset 0 is the first
  // byte of `file`.
  [[nodiscard]] static std::unique_ptr<DirectFile> open(const OsFile& file);

  // Offsets, sizes and addresses of reads are multiples of it.
  [[nodiscard]] virtual std::uint64_t alignment() const noexcept = 0;
  // Fills `buffer` from `offset`, which may reach behind the end of the file: at least `needed` bytes are there.
  // Errors: truncated, io, unsupported (this memory or this place cannot be read directly: read it in another way).
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> buffer,
                                       std::uint64_t needed) const = 0;
};

// Opens the file once more, for reads through the page cache that the system does not run ahead of. Offset 0 is the
// first byte of the file behind the descriptor. Returns null if that cannot be had.
[[nodiscard]] std::unique_ptr<OsFile> open_without_read_ahead(const OsFile& file);

// Returns how many bytes of the range are in the page cache, in whole pages; nothing if the system does not report it.
[[nodiscard]] std::optional<std::uint64_t> cached_bytes(const OsFile& file, ByteRange range) noexcept;

}  // namespace fatctx::mapping
