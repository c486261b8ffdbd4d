// Hand-made GGUF files, for tests that read or pack them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/irpa_file.h"

namespace fatctx::support {

class GgufWriter {
 public:
  static constexpr std::uint32_t kF32 = 0, kQ4K = 12, kI8 = 24;

  // The values that the file states; a test may change them to wrong ones.
  std::uint32_t version = 3;
  std::uint64_t tensor_count = 0;
  std::uint64_t pair_count = 0;
  std::size_t alignment = 32;  // of the data; stored as a pair only after alignment_pair()

  void pair(const std::string& key, std::uint32_t type) {
    ++pair_count;
    text(key);
    number<std::uint32_t>(type);
  }
  void alignment_pair(std::uint32_t value) {
    pair("general.alignment", 4);
    number<std::uint32_t>(value);
    alignment = value;
  }
  template <typename T>
  void number(T value) {
    index_.resize(index_.size() + sizeof(T));
    set_le<T>(index_, index_.size() - sizeof(T), value);
  }
  void text(const std::string& value) {
    number<std::uint64_t>(value.size());
    for (const char c : value) index_.push_back(static_cast<std::byte>(c));
  }
  // Adds a tensor. `dims` are in the order of the file: innermost first. The data grows to hold the tensor.
  void tensor(const std::string& name, std::vector<std::uint64_t> dims, std::uint32_t type, std::uint64_t offset,
              std::uint64_t size) {
    ++tensor_count;
    text(name);
    number<std::uint32_t>(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) number<std::uint64_t>(dim);
    number<std::uint32_t>(type);
    number<std::uint64_t>(offset);
    data_size_ = offset + size;
  }

  [[nodiscard]] std::size_t data_begin() const noexcept {
    return (24 + index_.size() + alignment - 1) / alignment * alignment;
  }
  // Returns the file. The data is padded to the alignment, as gguf's own writer does.
  [[nodiscard]] std::vector<std::byte> write() const {
    const std::size_t begin = data_begin();
    const std::size_t padded = (data_size_ + alignment - 1) / alignment * alignment;
    std::vector<std::byte> file(begin + padded);
    std::memcpy(file.data(), "GGUF", 4);
    set_le<std::uint32_t>(file, 4, version);
    set_le<std::uint64_t>(file, 8, tensor_count);
    set_le<std::uint64_t>(file, 16, pair_count);
    std::copy(index_.begin(), index_.end(), file.begin() + 24);
    for (std::size_t i = 0; i < padded; ++i) file[begin + i] = static_cast<std::byte>(i * 11 + 3);
    return file;
  }

 private:
  std::vector<std::byte> index_;  // behind the 24 bytes of the header
  std::uint64_t data_size_ = 0;
};

}  // namespace fatctx::support
