// Making a file cold, and counting what the disk then delivers.
#pragma once

#include <cstdint>
#include <string>

namespace fatctx::bench {

// Writes the file's dirty pages and drops its pages from the cache. The path to it (directory entries, inode) stays in
// memory. Nobody may have it mapped. Waits first until the disk is quiet.
void drop_from_cache(const std::string& path);

// Bytes of the file that are in the page cache. Not 0 right after a drop: this filesystem keeps its files in memory,
// and "cold" means nothing there.
[[nodiscard]] std::uint64_t cached_bytes(const std::string& path);

// Bytes that this process has had fetched from storage, read ahead included; nothing where the system does not say.
[[nodiscard]] std::uint64_t fetched_bytes();

}  // namespace fatctx::bench
