// The memory of this process by kind, as the kernel counts it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fatctx::bench {

struct ProcessMemory {
  std::int64_t anonymous = 0;    // bytes, RssAnon: heap and stacks, which no other process shares
  std::int64_t file_backed = 0;  // RssFile: counts a page once for each mapping of it
  std::int64_t pss = 0;          // every page divided by the number of its mappings
  std::int64_t page_tables = 0;  // VmPTE
  std::int64_t shared = 0;       // RssShmem: memory that has a descriptor (memfd, tmpfs), mapped here
};
[[nodiscard]] ProcessMemory process_memory();
[[nodiscard]] ProcessMemory operator-(const ProcessMemory& after, const ProcessMemory& before);

// Resets and returns the peak resident size since the last reset, pages of program files included.
void reset_peak_memory();
[[nodiscard]] std::int64_t peak_memory();

// Returns the peak growth of the process while `work` runs, in bytes, even if it is given back. Pages of
// mapped files do not count if they remain afterwards. Those that `work` gives back do count, so the result
// errs upwards.
[[nodiscard]] std::int64_t peak_growth(const std::function<void()>& work);

// Returns the number of lines of /proc/self/maps that name this file.
[[nodiscard]] int count_mappings(const std::string& path);
// Returns MemAvailable of the machine, in bytes.
[[nodiscard]] std::uint64_t available_memory();

}  // namespace fatctx::bench
