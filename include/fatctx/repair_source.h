// Other containers that a repair takes right bytes from (fatctx/repair.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx {

// Takes bytes of a source as they come. An error ends the read.
using TakeBytes = std::function<Status(std::uint64_t offset, ByteView bytes)>;

// A container that is not a file here, behind a URL for example. Its functions are called on the thread of repair(),
// and only if bytes are missing that no file here has.
struct RepairSource {
  std::string name;  // in reports
  // Returns the size of the source. Called once, before `read`.
  std::function<Result<std::uint64_t>()> open;
  // Reads ranges, and gives their bytes to `take` in any order and any cut. If it brings a part only, it is called
  // again for the rest, as long as some bytes come.
  std::function<Status(const std::vector<ByteRange>& ranges, const TakeBytes& take)> read;
};

// The part of a repair that one source has. A dry run reads headers and tables only, and counts the payload that a
// repair would read and restore.
struct RepairSourceReport {
  std::string name;
  std::uint64_t restored_bytes = 0;  // bytes of the repaired file that come from this source
  std::uint64_t read_bytes = 0;      // bytes read from the source: header, tables, leaf hashes and payload
  std::uint64_t ranges = 0;          // ranges of payload read; adjacent ranges count as one
  std::string problem = {};          // why it was not used, or why leaves of it were refused; empty: no problem
};

}  // namespace fatctx
