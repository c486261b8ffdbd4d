// The layout of an imported DLC: the bytes between its entries, and which record holds which entry. With the records it
// yields the archive again, byte for byte. docs/dlc.md describes the record that holds it.
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

inline constexpr std::string_view kLayoutName = "dlc.layout";    // suffix of such a record's name
inline constexpr std::string_view kLayoutFormat = "dlc-layout";  // its format, in the description
// Headers and padding of the most entries, the largest directory, and as many bytes again that belong to neither.
inline constexpr std::uint64_t kMaxRestBytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMaxLayoutBytes = kMaxRestBytes + (std::uint64_t{2} << 20);

struct LayoutEntry {
  std::string record;  // name of the record that holds its bytes
  ByteRange data;      // in the archive; may be empty
  Hash128 hash;
};

struct ArchiveLayout {
  std::uint64_t file_size = 0;
  Hash128 hash;                      // of the whole archive
  std::vector<LayoutEntry> entries;  // in the order of the file; disjoint
  std::vector<std::byte> rest;       // everything else, in the order of the file
};

// Reads the whole archive, in pieces of a fixed size, for its hashes; `records` has a name for each of its entries.
// Errors: limit_exceeded (too many bytes between the entries), truncated, io.
[[nodiscard]] Result<ArchiveLayout> read_layout(const mapping::OsFile& file, const Archive& archive,
                                                const std::vector<std::string>& records);

[[nodiscard]] std::vector<std::byte> encode_layout(const ArchiveLayout& layout);

// Parses untrusted bytes. The ranges of the result cover the archive; it names records by valid names, each once.
// Errors: malformed, unsupported (a later version), limit_exceeded; the offset is that of `bytes`.
[[nodiscard]] Result<ArchiveLayout> parse_layout(ByteView bytes);

// A run of the archive's bytes, from an entry or from the rest.
struct LayoutRun {
  static constexpr std::size_t kRest = static_cast<std::size_t>(-1);
  std::size_t entry = kRest;  // index of the entry
  std::uint64_t offset = 0;   // in the entry or in the rest
  std::uint64_t size = 0;
};

// Returns the runs in order; none is empty. Requires: `range` is inside the archive.
[[nodiscard]] std::vector<LayoutRun> runs_in(const ArchiveLayout& layout, ByteRange range);

// A function that fills `out` with the bytes of an entry, from `offset` on.
using ReadEntry = std::function<Status(std::size_t entry, std::uint64_t offset, std::span<std::byte> out)>;

// A readable file with the bytes of the archive, whose entries are stored elsewhere.
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
