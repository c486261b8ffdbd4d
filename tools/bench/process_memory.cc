#include "tools/bench/process_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace fatctx::tools {
namespace {

// Parses a "Key:   123 kB" line into bytes. Returns nothing for any other line.
std::optional<std::int64_t> kilobytes(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  line.remove_prefix(key.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  std::int64_t number = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), number).ec != std::errc{}) return std::nullopt;
  return number * 1024;
}

}  // namespace

std::optional<ProcessMemory> process_memory() {
  std::ifstream status("/proc/self/status");
  std::optional<std::int64_t> anonymous;
  std::optional<std::int64_t> file_backed;
  for (std::string line; std::getline(status, line);) {
    if (const auto bytes = kilobytes(line, "RssAnon:")) anonymous = bytes;
    if (const auto bytes = kilobytes(line, "RssFile:")) file_backed = bytes;
  }
  if (!anonymous || !file_backed) return std::nullopt;
  return ProcessMemory{.anonymous_bytes = *anonymous, .file_backed_bytes = *file_backed};
}

void give_back_freed_memory() noexcept {
#ifdef __GLIBC__
  (void)::malloc_trim(0);
#endif
}

}  // namespace fatctx::tools
