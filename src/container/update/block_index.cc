#include "container/update/block_index.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "container/update/container_file.h"

namespace fatctx::container {

unsigned block_log2_for(std::uint64_t file_size) noexcept {
  unsigned log2 = kLeastBlockLog2;
  while ((file_size >> log2) > kMostBlocks) ++log2;
  return log2;
}

RollingHash::RollingHash(std::size_t block_size) noexcept {
  for (std::size_t i = 0; i < block_size; ++i) last_ *= kFactor;
}

std::uint32_t RollingHash::of(ByteView block) noexcept {
  std::uint32_t hash = 0;
  for (const std::byte byte : block) hash = hash * kFactor + std::to_integer<std::uint32_t>(byte);
  return hash;
}

BlockKey key_of(ByteView block) noexcept { return {.rolling = RollingHash::of(block), .xxh3 = hash32(block)}; }

Result<BlockIndex> BlockIndex::open(const std::string& path) {
  auto file = mapping::open_for_reading(path);
  if (!file.ok()) return in_context(std::move(file).error(), path);
  return open(*file.value(), path);
}

Result<BlockIndex> BlockIndex::open(const mapping::OsFile& file, const std::string& path) {
  BlockIndex index;
  auto read = index.read(file);
  if (!read.ok()) return in_context(std::move(read).error(), path);
  return index;
}

Status BlockIndex::read(const mapping::OsFile& file) {
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file.identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, "not a regular file"};
  std::vector<std::byte> head(
      static_cast<std::size_t>(std::min<std::uint64_t>(identity.size, sizeof(BlockIndexHeader))));
  FATCTX_TRY(file.read_at(0, head));
  if (!has_magic(head, kBlockIndexMagic)) return Error{ErrorCode::kBadMagic, "not a block index"};
  const auto copied = copy_out<BlockIndexHeader>(head, 0);
  if (!copied.ok()) return Error{ErrorCode::kTruncated, "the block index ends in its header"};
  const BlockIndexHeader& header = copied.value();
  if (header.version != kBlockIndexVersion) {
    return Error{ErrorCode::kUnsupported, fmt::format("a block index of version {}; this program knows version {}",
                                                      static_cast<std::uint16_t>(header.version), kBlockIndexVersion)};
  }
  of_ = header.of;
  block_log2_ = header.block_log2;
  if (of_.size == 0 || block_log2_for(of_.size) > kMostBlockLog2) {
    return Error{ErrorCode::kLimitExceeded, "the block index is of a container that is too large for one"};
  }
  if (header.reserved != 0 || block_log2_ != block_log2_for(of_.size)) {
    return Error{ErrorCode::kMalformed, "the header of the block index has values that no writer writes"};
  }
  const std::uint64_t count = of_.size >> block_log2_;
  const std::uint64_t keys_end = sizeof(header) + count * sizeof(BlockKey);
  const std::uint64_t end = keys_end + sizeof(DiskHash);
  if (identity.size < end) {
    return Error{ErrorCode::kTruncated,
                 fmt::format("the block index has {} bytes, and should have {}", identity.size, end)};
  }
  if (identity.size > end) return Error{ErrorCode::kTrailingData, "bytes follow the block index"};

  keys_.resize(static_cast<std::size_t>(count));
  const std::span<std::byte> keys = std::as_writable_bytes(std::span(keys_));
  FATCTX_TRY(file.read_at(sizeof(header), keys));
  DiskHash stored = {};
  FATCTX_TRY(file.read_at(keys_end, stored));
  Hasher hasher;
  hasher.update(head);
  hasher.update(keys);
  if (hasher.digest().bytes == stored) return Done{};
  return Error{ErrorCode::kChecksumMismatch, "the block index is damaged; fetch it again"};
}

}  // namespace fatctx::container
