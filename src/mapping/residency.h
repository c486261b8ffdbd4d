// The part of a map that is in memory, as the system counts it for this process.
//
// Does not use mincore: that reports the page cache, says "all of it" for files that the caller may not write, and so
// shows nothing about this process. smaps and pagemap count the pages that this process has in its page table. smaps
// counts whole maps only, and all records are in one; pagemap has one word per page, which gives a record's share.
#pragma once

#include <cstdint>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::mapping {

struct MapUse {
  std::uint64_t resident = 0;      // Rss
  std::uint64_t proportional = 0;  // Pss: pages that several processes map count in parts
  std::uint64_t locked = 0;        // of the resident ones
};

// The sum over the maps that hold `mapped`, from /proc/self/smaps. Errors: unsupported (there is no such file), io.
// Cost: the system walks every map of the process.
[[nodiscard]] Result<MapUse> use_of_map(ByteView mapped);

// Returns how many of these bytes are in pages that this process has in its page table, from /proc/self/pagemap.
// Errors: unsupported, io. Cost: 8 bytes read for each page.
[[nodiscard]] Result<std::uint64_t> resident_bytes(ByteView bytes);

}  // namespace fatctx::mapping
