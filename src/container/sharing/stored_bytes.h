// Bytes that the file has or will have, as stores that a copy may read: existing segments, whole records, and bytes
// that other records store themselves. They are read in blocks, of which some are cached.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/sharing/record_bytes.h"
#include "fatctx/base/bytes.h"

namespace fatctx::container::sharing {

// A cache of blocks of any number of sources, read on demand. Keeps only a few sources open at a time, because there
// may be more of them than a process may have descriptors.
//
// Memory: `blocks` times 64 KiB. Threads: one at a time.
class BlockCache {
 public:
  static constexpr std::uint64_t kBlockSize = std::uint64_t{64} << 10;

  explicit BlockCache(std::size_t blocks) : blocks_(blocks) {}

  // Returns the byte at `offset` and those after it, up to the end of its block. Lifetime: until the next call.
  // Requires: offset < source.size(). Errors: those of reading.
  [[nodiscard]] Result<ByteView> at(const RecordBytes& source, std::uint64_t offset);
  void close_all();

 private:
  struct Block {
    const RecordBytes* source = nullptr;
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;
  };
  void opened(const RecordBytes& source);

  std::vector<Block> blocks_;
  std::vector<const RecordBytes*> open_;  // least recently used first
};

// A concatenation of ranges of a source: the bytes that a record stores itself.
class OwnBytes final : public RecordBytes {
 public:
  OwnBytes(const RecordBytes& of, std::vector<ByteRange> ranges);
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  void close() const noexcept override { of_.close(); }

 private:
  const RecordBytes& of_;
  std::vector<ByteRange> ranges_;
  std::vector<std::uint64_t> starts_;  // offset of each range in these bytes
  std::uint64_t size_ = 0;
};

// Returns whether both have the same bytes. Much faster than std::equal, which takes std::byte one by one.
[[nodiscard]] bool equal_bytes(ByteView a, ByteView b) noexcept;

// Returns how many bytes are equal from the front, or from the back, of two views.
[[nodiscard]] std::size_t common_prefix(ByteView a, ByteView b) noexcept;
[[nodiscard]] std::size_t common_suffix(ByteView a, ByteView b) noexcept;

}  // namespace fatctx::container::sharing
