// What of an imported DLC is no payload: the bytes between its entries, and which record holds which entry. With the
// records it is the archive again, byte for byte. docs/dlc.md has the table of the record that holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "container/dlc/archive.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"
#include "mapping/read_only_file.h"

namespace fatctx::container::dlc {

inline constexpr std::string_view kLayoutName = "dlc.layout";    // how the name of such a record ends
inline constexpr std::string_view kLayoutFormat = "dlc-layout";  // its format in the description
// Headers and padding of the most entries, the largest directory, and as much again that belongs to nothing.
inline constexpr std::uint64_t kMaxRestBytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMaxLayoutBytes = kMaxRestBytes + (std::uint64_t{2} << 20);

struct LayoutEntry {
  std::string record;  // the name of the record with its bytes
  ByteRange data;      // in the archive; may be empty
  Hash128 hash;
};

struct ArchiveLayout {
  std::uint64_t file_size = 0;
  Hash128 hash;                      // of the whole archive
  std::vector<LayoutEntry> entries;  // in the order of the file, apart from each other
  std::vector<std::byte> rest;       // everything else, in the order of the file
};

// Reads all of the archive, in pieces of a fixed size, for its hashes; `records` has a name for each of its entries.
// Errors: limit_exceeded (too much between the entries), truncated, io.
[[nodiscard]] Result<ArchiveLayout> read_layout(const mapping::OsFile& file, const Archive& archive,
                                                const std::vector<std::string>& records);

[[nodiscard]] std::vector<std::byte> encode_layout(const ArchiveLayout& layout);

// Bytes of a stranger: what this returns adds up to the archive, names records by names that they can have, each once.
// Errors: malformed, unsupported (a later version), limit_exceeded; the offset is that of `bytes`.
[[nodiscard]] Result<ArchiveLayout> parse_layout(ByteView bytes);

// A run of the archive: bytes of an entry, or of the rest.
struct LayoutRun {
  static constexpr std::size_t kRest = static_cast<std::size_t>(-1);
  std::size_t entry = kRest;  // index among the entries
  std::uint64_t offset = 0;   // in the entry or in the rest
  std::uint64_t size = 0;
};

// In order, none empty. Requires: `range` lies in the archive.
[[nodiscard]] std::vector<LayoutRun> runs_in(const ArchiveLayout& layout, ByteRange range);

// Fills `out` with the bytes of an entry, from `offset` on.
using ReadEntry = std::function<Status(std::size_t entry, std::uint64_t offset, std::span<std::byte> out)>;

// The archive as a file to read, while its entries lie somewhere else.
// Ownership: borrows the layout. Threads: as `read`.
class StoredArchive final : public mapping::ReadOnlyFile {
 public:
  StoredArchive(const ArchiveLayout& layout, ReadEntry read) : layout_(layout), read_(std::move(read)) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Result<mapping::FileIdentity> identity() const override;

 private:
  const ArchiveLayout& layout_;
  ReadEntry read_;
};

}  // namespace fatctx::container::dlc
