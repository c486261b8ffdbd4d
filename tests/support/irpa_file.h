// Hand-made IREE parameter archives, for tests that read or pack them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fatctx/base/little_endian.h"

namespace fatctx::support {

// Writes `value` little-endian at `offset`. Requires: it fits.
template <typename T>
void set_le(std::vector<std::byte>& bytes, std::size_t offset, T value) {
  const LittleEndian<T> disk(value);
  std::memcpy(bytes.data() + offset, &disk, sizeof(disk));
}

// A writer of one header with its segments; tests join chains by hand.
class IrpaWriter {
 public:
  void data(const std::string& name, std::uint64_t offset, std::uint64_t size, std::uint64_t alignment = 0) {
    const std::size_t at = begin_entry(name, 76, 2, alignment);
    set_le<std::uint64_t>(table_, at + 60, offset);
    set_le<std::uint64_t>(table_, at + 68, size);
  }
  void splat(const std::string& name, std::uint64_t size, std::uint8_t pattern_size) {
    const std::size_t at = begin_entry(name, 85, 1, 0);
    set_le<std::uint64_t>(table_, at + 60, size);
    table_[at + 84] = std::byte{pattern_size};
  }
  void skip() { begin_entry("gone", 76, 0, 0); }
  void external(const std::string& name) { begin_entry(name, 92, 3, 0); }

  // Returns 88 bytes of header, the table at 96, names behind it, and `storage_size` bytes of storage on the next 64.
  [[nodiscard]] std::vector<std::byte> write(std::uint64_t storage_size) const {
    const std::size_t metadata = 96 + table_.size();
    const std::size_t storage = (metadata + names_.size() + 63) / 64 * 64;
    std::vector<std::byte> file(storage + storage_size, std::byte{0xa5});
    for (std::size_t at = 0; at < 96; at += 8) set_le<std::uint64_t>(file, at, 0);
    std::memcpy(file.data(), "IRPA", 4);
    set_le<std::uint64_t>(file, 8, 88);
    set_le<std::uint64_t>(file, 32, count_);
    set_le<std::uint64_t>(file, 40, 96);
    set_le<std::uint64_t>(file, 48, table_.size());
    set_le<std::uint64_t>(file, 56, metadata);
    set_le<std::uint64_t>(file, 64, names_.size());
    set_le<std::uint64_t>(file, 72, storage);
    set_le<std::uint64_t>(file, 80, storage_size);
    std::copy(table_.begin(), table_.end(), file.begin() + 96);
    std::memcpy(file.data() + metadata, names_.data(), names_.size());
    return file;
  }

 private:
  std::size_t begin_entry(const std::string& name, std::uint64_t size, std::uint32_t type, std::uint64_t alignment) {
    const std::size_t at = (table_.size() + 15) / 16 * 16;
    table_.resize(at + size);
    set_le<std::uint64_t>(table_, at, size);
    set_le<std::uint32_t>(table_, at + 8, type);
    set_le<std::uint64_t>(table_, at + 20, names_.size());
    set_le<std::uint64_t>(table_, at + 28, name.size());
    set_le<std::uint64_t>(table_, at + 52, alignment);
    names_ += name;
    ++count_;
    return at;
  }

  std::vector<std::byte> table_;
  std::string names_;
  std::uint64_t count_ = 0;
};

}  // namespace fatctx::support
