#include "support/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "support/or_stop.h"
#include "support/raw_file.h"

namespace fatctx::bench {

void drop_from_cache(const std::string& path) {
  // Data that an earlier call read ahead may still be in flight, and would delay this one.
  constexpr auto kArrived = std::chrono::milliseconds(20);
  std::this_thread::sleep_for(kArrived);
  const mapping::UniqueFd file = open_raw(path);
  // The kernel drops only clean pages.
  if (::fdatasync(file.get()) != 0 || ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) {
    stop("cannot drop the pages of " + path);
  }
}

std::uint64_t cached_bytes(const std::string& path) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const RawMap map(path);
  std::vector<unsigned char> in_memory((map.bytes().size() + page - 1) / page);
  if (::mincore(const_cast<std::byte*>(map.bytes().data()), map.bytes().size(), in_memory.data()) != 0) {
    stop("cannot ask which pages of " + path + " are in memory");
  }
  const auto count = std::count_if(in_memory.begin(), in_memory.end(), [](unsigned char c) { return (c & 1U) != 0; });
  return static_cast<std::uint64_t>(count) * page;
}

std::uint64_t fetched_bytes() {
  std::ifstream io("/proc/self/io");
  const std::string key = "read_bytes: ";
  for (std::string line; std::getline(io, line);) {
    if (line.starts_with(key)) return std::stoull(line.substr(key.size()));
  }
  return 0;
}

}  // namespace fatctx::bench
