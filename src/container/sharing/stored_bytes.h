// Bytes that the file has or will have, as stores that a copy may read: segments that are there already, whole records,
// and what other records keep of their own. Read in blocks, of which some are kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/sharing/record_bytes.h"
#include "fatctx/base/bytes.h"

namespace fatctx::container::sharing {

// Blocks of one or many sources, read when they are asked for. Only a few sources are open at a time, because there may
// be more of them than a process may have descriptors.
//
// Memory: `blocks` times 64 KiB. Threads: one at a time.
class BlockCache {
 public:
  static constexpr std::uint64_t kBlockSize = std::uint64_t{64} << 10;

  explicit BlockCache(std::size_t blocks) : blocks_(blocks) {}

  // The byte at `offset` and those behind it, as far as its block goes. Lifetime: until the next call.
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
  std::vector<const RecordBytes*> open_;  // the last one was used last
};

// Ranges of a source, one behind the other: what a record stores itself.
class OwnBytes final : public RecordBytes {
 public:
  OwnBytes(const RecordBytes& of, std::vector<ByteRange> ranges);
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  void close() const noexcept override { of_.close(); }

 private:
  const RecordBytes& of_;
  std::vector<ByteRange> ranges_;
  std::vector<std::uint64_t> starts_;  // of each range, in these bytes
  std::uint64_t size_ = 0;
};

// How many bytes are equal from the front, or from the back, of two views.
[[nodiscard]] std::size_t common_prefix(ByteView a, ByteView b) noexcept;
[[nodiscard]] std::size_t common_suffix(ByteView a, ByteView b) noexcept;

}  // namespace fatctx::container::sharing
