// Readers and writers of the formats from which weights are mapped today, made from their published
// descriptions. They find an entry by name and return its bytes in a mapping, with the necessary bounds
// checks, and do nothing slow on purpose. No reader of these formats checks a checksum when it maps.
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

// An entry of a file to write, and the source of its bytes.
struct RivalEntry {
  std::string name;
  std::uint64_t size = 0;
  std::string source;  // a file; read from `source_offset`
  std::uint64_t source_offset = 0;
};

// Each writes a new file and, if requested, syncs it. `buffer` is its copy buffer.
void write_safetensors(const std::string& path, std::span<const RivalEntry> entries, std::span<std::byte> buffer,
                       bool sync);
// Writes stored entries, with data at 4 KiB as zipalign does, and the CRC-32 that the format requires. Below
// 4 GiB.
void write_stored_zip(const std::string& path, std::span<const RivalEntry> entries, std::span<std::byte> buffer,
                      bool sync);
// Writes an IREE parameter archive, one header, entries at 64 bytes.
void write_irpa(const std::string& path, std::span<const RivalEntry> entries, std::span<std::byte> buffer, bool sync);

// A file of one of these formats: mapped, with an index by name in a hash table.
class RivalFile {
 public:
  [[nodiscard]] static RivalFile open_safetensors(const std::string& path);  // 8-byte size, JSON header
  [[nodiscard]] static RivalFile open_stored_zip(const std::string& path);   // central directory
  [[nodiscard]] static RivalFile open_irpa(const std::string& path);         // entry table

  [[nodiscard]] std::size_t size() const noexcept { return index_.size() + owned_.size(); }
  [[nodiscard]] ByteView find(std::string_view name) const;  // stops the bench if it does not exist

 private:
  explicit RivalFile(const std::string& path) : map_(std::make_unique<RawMap>(path)) {}
  [[nodiscard]] ByteView checked(std::uint64_t offset, std::uint64_t size) const;

  std::unique_ptr<RawMap> map_;
  std::unordered_map<std::string_view, ByteView> index_;  // names are stored in the mapping
  bool starts_with_local_header_ =
      false;  // ZIP: only that header says where the data starts, and it is read when requested
  // Names in JSON may be escaped, so this object holds their unescaped form.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, ByteView, Hash, std::equal_to<>> owned_;
};

}  // namespace fatctx::bench
