// What this process holds open, for tests that nothing leaks.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace fatctx::support {

[[nodiscard]] inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// Maps of files whose path contains `text`.
[[nodiscard]] inline std::size_t maps_of(const std::string& text) {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(text) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace fatctx::support
