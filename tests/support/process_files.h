// The files that this process holds open and maps, for tests of leaks.
#pragma once

#ifdef _WIN32
#include "mapping/windows_api.h"

#define PSAPI_VERSION 2  // its functions are in a library that every program has
#include <psapi.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace fatctx::support {

#ifdef _WIN32

// Asks for each handle, because Wine does not count them.
[[nodiscard]] inline std::size_t open_descriptors() {
  constexpr std::uintptr_t kHighest = 8192, kStep = 4;
  std::size_t count = 0;
  for (std::uintptr_t number = kStep; number <= kHighest; number += kStep) {
    DWORD flags = 0;
    if (::GetHandleInformation(reinterpret_cast<HANDLE>(number), &flags) != 0) ++count;
  }
  return count;
}

// Returns the path of the file of each map, with the separators of the other systems.
[[nodiscard]] inline std::vector<std::string> mapped_paths() {
  std::vector<std::string> paths;
  std::string path(4096, '\0');
  MEMORY_BASIC_INFORMATION region{};
  for (const char* at = nullptr; ::VirtualQuery(at, &region, sizeof(region)) != 0; at += region.RegionSize) {
    if (region.Type != MEM_MAPPED || region.BaseAddress != region.AllocationBase) continue;
    const DWORD size =
        ::GetMappedFileNameA(::GetCurrentProcess(), region.BaseAddress, path.data(), static_cast<DWORD>(path.size()));
    paths.push_back(path.substr(0, size));
    std::replace(paths.back().begin(), paths.back().end(), '\\', '/');
  }
  return paths;
}

#else

[[nodiscard]] inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// Returns a line of the system for each map; the path of its file is at the end.
[[nodiscard]] inline std::vector<std::string> mapped_paths() {
  std::vector<std::string> lines;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) lines.push_back(line);
  return lines;
}

#endif

// Returns a path as the system names it in its maps, where a drive may have another word.
[[nodiscard]] inline std::string as_mapped(const std::filesystem::path& path) {
  return path.root_directory().generic_string() + path.relative_path().generic_string();
}

// Counts the maps of files whose path contains `part`; counts all maps if it is empty.
[[nodiscard]] inline std::size_t maps_of(const std::filesystem::path& part) {
  const auto contains = [text = as_mapped(part)](const std::string& path) {
    return path.find(text) != std::string::npos;
  };
  return static_cast<std::size_t>(std::ranges::count_if(mapped_paths(), contains));
}

// Counts the maps of the file at `path`, an absolute path.
[[nodiscard]] inline std::size_t maps_of_file(const std::filesystem::path& path) {
  const auto ends_so = [text = as_mapped(path)](const std::string& mapped) { return mapped.ends_with(text); };
  return static_cast<std::size_t>(std::ranges::count_if(mapped_paths(), ends_so));
}

// Returns the resident bytes without a file: the heap and the stacks.
[[nodiscard]] inline std::uint64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
  }
  throw std::runtime_error("the system does not say how much memory this process has");
}

}  // namespace fatctx::support
