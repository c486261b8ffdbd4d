// A mapped file of known bytes whose pages are all out of memory, and the system's information about it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "mapping/mapped_region.h"
#include "mapping/page_lock.h"
#include "mapping/page_range.h"
#include "mapping/residency.h"
#include "mapping/unique_fd.h"
#include "support/temp_dir.h"

namespace fatctx::support {

// Returns the bytes in a range of `path` that the page cache holds, in whole pages. mincore tells them through a map of
// its own, which touches nothing. It is correct for the owner of the file only.
[[nodiscard]] inline std::size_t cached_bytes(const std::string& path, ByteRange range) {
  const auto file = mapping::open_for_reading(path).value();
  const auto region = mapping::map_file_raw(*file, file->identity().value().size).value();
  const std::size_t page = mapping::page_size();
  const std::size_t first = static_cast<std::size_t>(range.offset) / page;
  std::vector<unsigned char> present((static_cast<std::size_t>(range.offset + range.size) + page - 1) / page - first);
  void* start = const_cast<std::byte*>(region->bytes().data()) + first * page;
  if (::mincore(start, present.size() * page, present.data()) != 0) throw std::runtime_error("mincore failed");
  std::size_t bytes = 0;
  for (const unsigned char one : present) bytes += (one & 1U) != 0 ? page : 0;
  return bytes;
}

[[nodiscard]] inline std::size_t cached_bytes(const std::string& path) {
  return cached_bytes(path, {0, std::filesystem::file_size(path)});
}

// Writes dirty pages and drops `path` from the page cache. Requires: none of its pages is mapped in any process.
inline void drop_from_cache(const std::string& path) {
  const mapping::UniqueFd descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (::fsync(descriptor.get()) != 0) throw std::runtime_error("fsync failed");
  (void)::posix_fadvise(descriptor.get(), 0, 0, POSIX_FADV_DONTNEED);
}

// Returns false under a sanitizer, which disables locking to protect its own memory, and on systems that refuse it.
[[nodiscard]] inline bool locking_works() {
  static const bool works = [] {
    const TempDir folder;
    write_file(folder.file("probe"), Bytes(mapping::page_size(), std::byte{1}));
    const auto file = mapping::open_for_reading(folder.file("probe")).value();
    const auto region = mapping::map_file_raw(*file, mapping::page_size()).value();
    const auto lock = mapping::PageLock::of(region->bytes());
    return lock.ok() && mapping::use_of_map(region->bytes()).value().locked != 0;
  }();
  return works;
}

// Reads one byte of every page, as a consumer would.
inline unsigned touch(ByteView bytes) {
  const auto* data = reinterpret_cast<const volatile unsigned char*>(bytes.data());
  unsigned sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += mapping::page_size()) sum += data[at];
  return sum;
}

}  // namespace fatctx::support
