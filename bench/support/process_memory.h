// How much memory this process has, kind by kind, as the kernel counts it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fatctx::bench {

struct ProcessMemory {
  std::int64_t anonymous = 0;    // bytes, RssAnon: heap and stacks; nobody else pays for them
  std::int64_t file_backed = 0;  // RssFile: counts a page once for each mapping of it
  std::int64_t pss = 0;          // every page divided by the number of its mappings
  std::int64_t page_tables = 0;  // VmPTE
  std::int64_t shared = 0;       // RssShmem: memory that has a descriptor (memfd, tmpfs), mapped here
};
[[nodiscard]] ProcessMemory process_memory();
[[nodiscard]] ProcessMemory operator-(const ProcessMemory& after, const ProcessMemory& before);

// The most that was resident at once since the last reset, pages of program files included.
void reset_peak_memory();
[[nodiscard]] std::int64_t peak_memory();

// What the process grows by at the most while `work` runs, in bytes, given back or not. Pages of mapped files that it
// leaves behind do not count; those that it gives back do, so that it errs upwards.
[[nodiscard]] std::int64_t peak_growth(const std::function<void()>& work);

// Lines of /proc/self/maps that name this file.
[[nodiscard]] int count_mappings(const std::string& path);
// MemAvailable of the machine, in bytes.
[[nodiscard]] std::uint64_t available_memory();

}  // namespace fatctx::bench
