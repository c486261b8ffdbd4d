// Readers and writers of the formats that people map weights from today, made from their published descriptions. They
// do what is needed to find an entry by name and have its bytes in a mapping, with the checks of bounds that such a
// reader cannot do without, and nothing slow on purpose. None of these formats has checksums that are looked at when
// mapping.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/raw_file.h"

namespace fatctx::bench {

// What a writer puts into a file, and where it takes it from.
struct RivalEntry {
  std::string name;
  std::uint64_t size = 0;
  std::string source;  // a file; read from `source_offset`
  std::uint64_t source_offset = 0;
};

// Each writes a new file and, if asked, syncs it. `buffer` is what it copies with.
void write_safetensors(const std::string& path, std::span<const RivalEntry> entries, std::span<std::byte> buffer,
                       bool sync);
// Stored, with data on 4 KiB as zipalign puts it; CRC-32 as the format asks. Below 4 GiB.
void write_stored_zip(const std::string& path, std::span<const RivalEntry> entries, std::span<std::byte> buffer,
                      bool sync);
// IREE parameter archive, one header, entries on 64 bytes.
void write_irpa(const std::string& path, std::span<const RivalEntry> entries, std::span<std::byte> buffer, bool sync);

// A file of one of these formats: mapped, with an index by name in a hash table.
class RivalFile {
 public:
  [[nodiscard]] static RivalFile open_safetensors(const std::string& path);  // 8-byte size, JSON header
  [[nodiscard]] static RivalFile open_stored_zip(const std::string& path);   // central directory
  [[nodiscard]] static RivalFile open_irpa(const std::string& path);         // entry table

  [[nodiscard]] std::size_t size() const noexcept { return index_.size() + owned_.size(); }
  [[nodiscard]] ByteView find(std::string_view name) const;  // stops the bench if it is not there

 private:
  explicit RivalFile(const std::string& path) : map_(std::make_unique<RawMap>(path)) {}
  [[nodiscard]] ByteView checked(std::uint64_t offset, std::uint64_t size) const;

  std::unique_ptr<RawMap> map_;
  std::unordered_map<std::string_view, ByteView> index_;  // names stand in the mapping
  bool starts_with_local_header_ =
      false;  // ZIP: only that header says where the data starts, and it is read when asked
  // Names of JSON may be escaped, so that they are held.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, ByteView, Hash, std::equal_to<>> owned_;
};

}  // namespace fatctx::bench
