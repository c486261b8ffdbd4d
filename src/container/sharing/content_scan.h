// One pass over a record: the hashes of its granules, and its content-defined chunks.
//
// Granules are what can be shared; they are equal only where bytes lie at the same place of a granule. Chunks end where
// the bytes say so, so they are equal even where one record holds the bytes of another at a shifted place. They tell
// which records are made of the same stuff.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "container/sharing/record_bytes.h"
#include "fatctx/base/bytes.h"
#include "fatctx/record.h"

namespace fatctx::container::sharing {

inline constexpr std::size_t kMinChunk = std::size_t{4} << 10;
inline constexpr std::size_t kMaxChunk = std::size_t{128} << 10;
inline constexpr unsigned kChunkLog2 = 14;  // on average a chunk ends 2^14 bytes behind its first 4 KiB

struct Chunk {
  std::uint64_t hash = 0;
  std::uint32_t size = 0;
};

struct ContentScan {
  std::vector<std::uint64_t> granules;  // the last one as if zeros filled it up
  std::vector<Chunk> chunks;            // ascending by hash, each once
  Hash128 content_hash;                 // of size and chunks in their order in the record: tells any two records apart
};

// Never proof that bytes are equal.
using GranuleHash = std::function<std::uint64_t(ByteView)>;
[[nodiscard]] std::uint64_t granule_hash(ByteView granule) noexcept;

// Bytes of the chunk that starts with `bytes`, which hold at least kMaxChunk bytes or all that is left.
[[nodiscard]] std::size_t chunk_size(ByteView bytes) noexcept;

// Memory: 1.2 MiB and the result. Errors: those of reading.
[[nodiscard]] Result<ContentScan> scan_content(const RecordBytes& record, unsigned granule_log2,
                                               const GranuleHash& hash);

}  // namespace fatctx::container::sharing
