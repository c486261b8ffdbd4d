// A block index: hashes of all blocks of a container, by which a device finds them at any offset of files that it has.
// docs/block_index_format.md is the normative text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "container/update/update_format.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/little_endian.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

inline constexpr std::array<std::byte, 8> kBlockIndexMagic = {std::byte{'F'}, std::byte{'A'}, std::byte{'T'},
                                                              std::byte{'C'}, std::byte{'T'}, std::byte{'X'},
                                                              std::byte{'B'}, std::byte{'\n'}};
inline constexpr std::uint16_t kBlockIndexVersion = 1;
inline constexpr unsigned kLeastBlockLog2 = 10;
inline constexpr unsigned kMostBlockLog2 = 16;
inline constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 22;  // 32 MiB of keys

// A BlockKey of each whole block follows, and then the hash of all bytes before it.
struct BlockIndexHeader {
  std::array<std::byte, 8> magic;
  le16 version;
  le16 block_log2;
  le32 reserved;
  ContainerName of;
};
static_assert(sizeof(BlockIndexHeader) == 64 && alignof(BlockIndexHeader) == 1);

// The hashes of a block. Nobody relies on them: they say where a block may be, and a leaf hash says whether it is.
struct BlockKey {
  le32 rolling;
  le32 xxh3;

  // For searches: the order of keys.
  [[nodiscard]] std::uint64_t word() const noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(rolling)} << 32U | static_cast<std::uint32_t>(xxh3);
  }
};
static_assert(sizeof(BlockKey) == 8 && alignof(BlockKey) == 1);

// Returns the size of the blocks of a file: the least one with which the index has at most kMostBlocks. Larger than
// kMostBlockLog2 if there is none.
[[nodiscard]] unsigned block_log2_for(std::uint64_t file_size) noexcept;

// The sum of b[i] * kFactor^(n-1-i) over the bytes of a block, modulo 2^32. It moves on by a byte in constant time.
class RollingHash {
 public:
  static constexpr std::uint32_t kFactor = 0x9e3779b1;

  explicit RollingHash(std::size_t block_size) noexcept;
  [[nodiscard]] static std::uint32_t of(ByteView block) noexcept;
  // Returns the hash of the block that begins a byte later.
  [[nodiscard]] std::uint32_t next(std::uint32_t hash, std::byte leaves, std::byte enters) const noexcept {
    return hash * kFactor + std::to_integer<std::uint32_t>(enters) - std::to_integer<std::uint32_t>(leaves) * last_;
  }

 private:
  std::uint32_t last_ = 1;  // kFactor^n
};

[[nodiscard]] BlockKey key_of(ByteView block) noexcept;

// A block index in memory, checked.
class BlockIndex {
 public:
  // Errors: bad_magic, unsupported, malformed, truncated, trailing_data, checksum_mismatch, limit_exceeded, not_found,
  // not_regular_file, io.
  [[nodiscard]] static Result<BlockIndex> open(const std::string& path);
  // The same of a file that is open already. `path` is for messages.
  [[nodiscard]] static Result<BlockIndex> open(const mapping::OsFile& file, const std::string& path);

  [[nodiscard]] const ContainerName& of() const noexcept { return of_; }
  [[nodiscard]] unsigned block_log2() const noexcept { return block_log2_; }
  [[nodiscard]] const std::vector<BlockKey>& keys() const noexcept { return keys_; }  // in the order of the file

 private:
  BlockIndex() = default;
  [[nodiscard]] Status read(const mapping::OsFile& file);

  ContainerName of_ = {};
  unsigned block_log2_ = kLeastBlockLog2;
  std::vector<BlockKey> keys_;
};

}  // namespace fatctx::container
