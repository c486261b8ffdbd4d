// Says which bytes of its container a file has. A partial container has the whole header and table of contents and a
// part of the payload. The rest are zeros, and the hash of a leaf says that they should not be (docs/delivery.md).
#pragma once

#include <cstdint>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/progress.h"

namespace fatctx {

struct PresenceOptions {
  // Looks for zeros in all of the payload, and reads about a page of each 64 KiB. Without it, only holes of the file
  // count: no payload is read, but zeros that were written, or that the filesystem does not tell as holes, pass for
  // present.
  bool read_payload = false;
  Progress progress = {};
};

// A record needs the leaves of 64 KiB under its bytes, and their hashes; a recipe also all segments that it reads.
struct RecordPresence {
  std::uint32_t record_id = 0;
  std::uint64_t needed_bytes = 0;  // bytes of the file that the record needs
  std::uint64_t absent_bytes = 0;  // how many of them are not present
};
struct PresenceReport {
  std::uint64_t absent_bytes = 0;
  std::vector<ByteRange> absent = {};  // the ranges of the file that are not present, ascending and apart
  std::vector<RecordPresence> records = {};
};

// Returns the absent bytes of the file of a container. Bytes that are damaged, and not zeros, count as present: a
// check tells (verify.h). Errors: those of the whole table (container.h), truncated, io, cancelled.
[[nodiscard]] Result<PresenceReport> find_absent(const Container& container, const PresenceOptions& options = {});
// Returns the ranges of the file that one record needs and that are not present. Errors: also not_found.
[[nodiscard]] Result<std::vector<ByteRange>> find_absent(const Container& container, std::uint32_t record_id,
                                                         const PresenceOptions& options = {});

}  // namespace fatctx
