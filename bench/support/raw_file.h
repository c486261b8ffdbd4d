// Uses files without a loader: the minimum of system calls. Any error ends the bench.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "fatctx/base/bytes.h"
#include "mapping/unique_fd.h"

namespace fatctx::bench {

[[nodiscard]] mapping::UniqueFd open_raw(const std::string& path, int flags = 0);  // added to O_RDONLY | O_CLOEXEC
[[nodiscard]] std::uint64_t size_of(const mapping::UniqueFd& file, const std::string& path);
void read_raw(const mapping::UniqueFd& file, std::uint64_t offset, std::span<std::byte> into);
// Reads a range in pieces into one buffer and passes each piece to `use`.
void read_in_pieces(const mapping::UniqueFd& file, ByteRange range, std::span<std::byte> buffer,
                    const std::function<void(ByteView)>& use);

// A map of a whole file, read-only and shared.
class RawMap {
 public:
  explicit RawMap(const std::string& path);
  ~RawMap();
  RawMap(const RawMap&) = delete;
  RawMap& operator=(const RawMap&) = delete;
  [[nodiscard]] ByteView bytes() const noexcept { return bytes_; }
  [[nodiscard]] const mapping::UniqueFd& file() const noexcept { return file_; }

 private:
  mapping::UniqueFd file_;
  ByteView bytes_;
};

// A new file, written front to back.
class RawOutput {
 public:
  explicit RawOutput(const std::string& path);
  void write(ByteView bytes);
  void write_over(std::uint64_t offset, ByteView bytes);  // a range that is already written
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  void close(bool sync);

 private:
  mapping::UniqueFd file_;
  std::uint64_t size_ = 0;
};

void touch(const std::byte* byte);
void touch_every_page(ByteView bytes);
// Does the minimum of every open: open, fstat, mmap, one touch, munmap, close.
void map_and_touch(const std::string& path, std::uint64_t offset);

}  // namespace fatctx::bench
