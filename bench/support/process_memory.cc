#include "support/process_memory.h"

#include <malloc.h>

#include <fstream>

#include "support/or_stop.h"

namespace fatctx::bench {
namespace {

// Returns the bytes of a "Key:   123 kB" line.
std::int64_t read_kb_line(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + ":")) return 1024 * std::stoll(line.substr(key.size() + 1));
  }
  stop(file + " has no line " + key);
}

}  // namespace

ProcessMemory process_memory() {
  return {.anonymous = read_kb_line("/proc/self/status", "RssAnon"),
          .file_backed = read_kb_line("/proc/self/status", "RssFile"),
          .pss = read_kb_line("/proc/self/smaps_rollup", "Pss"),
          .page_tables = read_kb_line("/proc/self/status", "VmPTE"),
          .shared = read_kb_line("/proc/self/status", "RssShmem")};
}

ProcessMemory operator-(const ProcessMemory& after, const ProcessMemory& before) {
  return {.anonymous = after.anonymous - before.anonymous,
          .file_backed = after.file_backed - before.file_backed,
          .pss = after.pss - before.pss,
          .page_tables = after.page_tables - before.page_tables,
          .shared = after.shared - before.shared};
}

void reset_peak_memory() {
  std::ofstream out("/proc/self/clear_refs");
  out << '5';
  if (!out.flush()) stop("the peak of the memory cannot be reset here");
}

std::int64_t peak_memory() { return read_kb_line("/proc/self/status", "VmHWM"); }

std::int64_t peak_growth(const std::function<void()>& work) {
  (void)::malloc_trim(0);  // memory freed before would hide new allocations
  const ProcessMemory before = process_memory();
  reset_peak_memory();
  work();
  return peak_memory() - before.anonymous - before.shared - process_memory().file_backed;
}

int count_mappings(const std::string& path) {
  std::ifstream in("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with(path)) ++count;
  }
  return count;
}

std::uint64_t available_memory() { return static_cast<std::uint64_t>(read_kb_line("/proc/meminfo", "MemAvailable")); }

}  // namespace fatctx::bench
