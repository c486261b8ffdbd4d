// Reads the entries of a DLC: a ZIP64 archive with uncompressed entries, at offsets that can be mapped.
//
// Accepts only the form that DLC writers produce: no compression, no encryption, no sizes behind the data, no comment
// at the end, one disk. Does not check the CRC of an entry: writers leave it at 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "container/dlc/zip_format.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container::dlc {

inline constexpr std::uint64_t kMaxEntries = 4096;
inline constexpr std::uint64_t kMaxDirectoryBytes = std::uint64_t{4} << 20;
inline constexpr std::size_t kMaxEntryName = 255;

struct Entry {
  std::string name;
  std::uint64_t header_offset = 0;
  ByteRange data;            // inside the file, behind the header, in front of the next one
  DiskCentralEntry central;  // for its attributes; sizes and offset are in the members above
  // The alignment of the data that the header states. Nothing: the header lacks this number or the number of padding
  // bytes, or one of them is wrong. The vendor's reader then does not find the entry.
  std::optional<std::uint32_t> alignment;
};

// A parsed archive, with entries in the order of the file. Names are unique. Entries do not overlap, and precede the
// directory.
struct Archive {
  std::vector<Entry> entries;
  std::uint64_t file_size = 0;
};

// Parses and checks an archive.
// Errors: bad_magic (no end record where one must be), truncated, trailing_data, unsupported (compressed, encrypted,
// several disks ...), malformed, limit_exceeded, io; each names the entry, if there is one, and the byte.
// Cost: reads the directory and the header of each entry, never their data.
[[nodiscard]] Result<Archive> read_archive(const mapping::OsFile& file, std::uint64_t file_size);

// Returns the name of the entry at byte 0, or nothing if no entry starts there. Reads at most 285 bytes.
[[nodiscard]] Result<std::string> first_entry_name(const mapping::OsFile& file, std::uint64_t file_size);

}  // namespace fatctx::container::dlc
