// Reads bytes of segments in any order. Hands on a byte only after its leaf was compared with its hash.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "container/format/codec.h"
#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "container/read/pieces.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// A reader that caches the newest leaves and remembers which leaves it has compared. So each leaf is hashed about once,
// even if steps jump back and forth. Bytes that change after their leaf was compared are found by the hash of the
// record.
// Memory: 8 MiB, and 1/4096 of the segments that were read from.
//
// Threads: one at a time.
class CheckedBytes {
 public:
  enum class Again {
    kCompare,  // a leaf that left the cache is compared again at the next read, unless little of it is read
    kTrust,    // a leaf is compared once and then trusted: for callers that verify the whole at the end
  };
  // The caller counts the bytes that it requests; this object counts the bytes beside them, read for a comparison.
  // Requires: the table is whole.
  CheckedBytes(const mapping::OsFile& file, const Toc& toc, WorkBudget budget, Again again = Again::kCompare);
  // The same for the segments of one record.
  CheckedBytes(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record, WorkBudget budget);

  // Hands on `range` of the file in pieces of at most one leaf. Requires: it is inside one payload or packed segment.
  // Errors: checksum_mismatch (F26: bytes or leaf hashes damaged), truncated, io; limit_exceeded (WorkBudget); those of
  // `sink`.
  [[nodiscard]] Status read(ByteRange range, const StreamSink& sink);
  // Shows `range` to `look` in the same order, for callers that only compute. Whole leaves are looked at where they are
  // mapped, if the file allows it, and compared each time. Errors: those of read(), and of `after`.
  [[nodiscard]] Status see(std::uint32_t segment, ByteRange in_segment, const mapping::Look& look,
                           const mapping::AfterPiece& after);
  // Reads into `out` in the same way, from `file_offset` on.
  [[nodiscard]] Status read_into(std::uint64_t file_offset, std::span<std::byte> out);
  // Returns the segment that `file_offset` is in.
  [[nodiscard]] std::uint32_t segment_at(std::uint64_t file_offset) const noexcept { return segments_.at(file_offset); }
  // Frees the cached leaves.
  void rest() noexcept;

 private:
  struct Held {
    std::uint32_t segment = kNoSegment;
    std::uint64_t leaf = 0;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] Status read_in(std::uint32_t segment, ByteRange in_segment, const StreamSink& sink);
  [[nodiscard]] Result<ByteView> part(std::uint32_t segment, std::uint64_t leaf, ByteRange in_leaf);

  const mapping::OsFile& file_;
  const Toc& toc_;
  SegmentFinder segments_;
  WorkBudget budget_;
  Again again_;
  LeafHashes hashes_;
  std::vector<Held> held_;
  std::map<std::uint32_t, std::vector<bool>> good_;  // compared leaves, by segment
  std::vector<std::byte> small_;
};

}  // namespace fatctx::container
