// Scans a record once, for the hashes of its granules and for its content-defined chunks.
//
// Granules are the unit of sharing; they are equal only if the bytes have the same offset within a granule. Chunks end
// where the bytes say so, so they are equal even if one record holds the bytes of another at a shifted offset. They
// show which records have content in common.
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
  std::vector<std::uint64_t> granules;  // the last one is hashed as if filled up with zeros
  std::vector<Chunk> chunks;            // ascending by hash, each once
  Hash128 content_hash;                 // of the size and the chunks in order: differs for any two records
};

// A function that hashes a granule. Equal hashes never prove that granules are equal.
using GranuleHash = std::function<std::uint64_t(ByteView)>;
[[nodiscard]] std::uint64_t granule_hash(ByteView granule) noexcept;

// Scans the whole record. Memory: 3 MiB and the result, rarely up to 7 MiB. Errors: those of reading.
[[nodiscard]] Result<ContentScan> scan_content(const RecordBytes& record, unsigned granule_log2,
                                               const GranuleHash& hash);

// The same for the chunks only; leaves `granules` empty.
[[nodiscard]] Result<ContentScan> scan_chunks(const RecordBytes& record);

}  // namespace fatctx::container::sharing
