// The index of an IREE parameter archive: headers in a chain, each with a table of entries and their names.
//
// Layout (little-endian, packed; all offsets of a header count from that header):
//   header, 88 bytes   "IRPA", u16 major 0, u16 minor 0, u64 header size, u64 next header (0: none), u64 flags,
//                      u64 entry count, then {u64 offset, u64 size} of entries, metadata and storage
//   entry, 60 bytes    u64 entry size, u32 type, u64 flags, name {offset, size} and metadata {offset, size} in the
//                      metadata segment, u64 minimum alignment; then by type
//     data, 76 bytes   {offset, size} in the storage segment
//     splat, 85 bytes  u64 size, 16-byte pattern, u8 pattern size
// Entries start on 16 bytes, counted from the segment's first byte. A skip entry is an erased one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

inline constexpr std::uint64_t kIrpaHeaderSize = 88;
inline constexpr std::uint64_t kMaxIrpaHeaders = 4096;
inline constexpr std::uint64_t kMaxIrpaEntries = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxIrpaIndexBytes = std::uint64_t{256} << 20;  // of all headers together

// A checked header: the ranges count from byte 0 of the file and are inside it.
struct IrpaHeader {
  std::uint64_t entry_count = 0;
  ByteRange entries;
  ByteRange metadata;
  ByteRange storage;
  std::uint64_t next_header = 0;  // from byte 0 of the file; 0 in the last header
};

struct IrpaEntry {
  std::string name;
  ByteRange range;  // in the file; offset 0 for a splat and for an entry without bytes
  bool splat = false;
};

// Parses a header. `bytes` are the kIrpaHeaderSize bytes at `header_offset` of a file of `file_size` bytes.
// Errors: truncated, bad_magic, unsupported, malformed, limit_exceeded.
[[nodiscard]] Result<IrpaHeader> parse_irpa_header(ByteView bytes, std::uint64_t header_offset,
                                                   std::uint64_t file_size);

// Appends the entries of one header to `entries`; `table` and `metadata` are the bytes of its two segments.
// Errors: unsupported, malformed, limit_exceeded.
[[nodiscard]] Status parse_irpa_entries(const IrpaHeader& header, ByteView table, ByteView metadata,
                                        std::vector<IrpaEntry>& entries);

// Follows the chain through a file and returns all entries; their names are unique.
// Errors: those of the two above, and io.
[[nodiscard]] Result<std::vector<IrpaEntry>> read_irpa_index(const mapping::OsFile& file, std::uint64_t file_size);

}  // namespace fatctx::container
