// Makes a file cold, and counts the bytes that the disk then delivers.
#pragma once

#include <cstdint>
#include <string>

namespace fatctx::bench {

// Writes the file's dirty pages and drops its pages from the cache. Its directory entries and inode stay in
// memory. No process may have it mapped. Waits first until the disk is quiet.
void drop_from_cache(const std::string& path);

// Returns the bytes of the file that are in the page cache. If it is not 0 right after a drop, the filesystem
// keeps its files in memory, and "cold" has no meaning there.
[[nodiscard]] std::uint64_t cached_bytes(const std::string& path);

// Returns the bytes that this process made the storage fetch, read ahead included; nothing if the system does
// not report it.
[[nodiscard]] std::uint64_t fetched_bytes();

}  // namespace fatctx::bench
