// Measures how much of a map is in memory, as the system counts it for this process.
//
// Does not use mincore, which reports the page cache. For files that the caller may not write it says "all of it", so
// it tells nothing about this process. The files smaps and pagemap count the pages in this process's page table. The
// former counts only whole maps, and all records are in one map. The latter has one word per page, which gives the
// share of a record.
#pragma once

#include <cstdint>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::mapping {

struct MapUse {
  std::uint64_t resident = 0;      // Rss
  std::uint64_t proportional = 0;  // Pss: pages that several processes map count in parts
  std::uint64_t locked = 0;        // part of `resident`
};

// Returns the sum over the maps that hold `mapped`, from /proc/self/smaps.
// Errors: unsupported (the file does not exist), io.
// Cost: the system walks every map of the process.
[[nodiscard]] Result<MapUse> use_of_map(ByteView mapped);

// Returns how many of these bytes are in pages that this process has in its page table, from /proc/self/pagemap.
// Errors: unsupported, io. Cost: 8 bytes read for each page.
[[nodiscard]] Result<std::uint64_t> resident_bytes(ByteView bytes);

}  // namespace fatctx::mapping
