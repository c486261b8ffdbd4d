// Hand-made safetensors files, for tests that read or pack them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/irpa_file.h"

namespace fatctx::support {

// Returns the size, the header as given, and `data_size` bytes, each different from its neighbors.
inline std::vector<std::byte> safetensors_file(const std::string& header, std::uint64_t data_size) {
  std::vector<std::byte> file(8 + header.size() + data_size);
  set_le<std::uint64_t>(file, 0, header.size());
  std::memcpy(file.data() + 8, header.data(), header.size());
  for (std::size_t i = 0; i < data_size; ++i) file[8 + header.size() + i] = static_cast<std::byte>(i * 7 + 1);
  return file;
}

}  // namespace fatctx::support
