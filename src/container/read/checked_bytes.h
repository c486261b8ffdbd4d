// Bytes of segments in any order, each handed on only after the leaf that it lies in was compared with its hash.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "container/format/codec.h"
#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// The bytes of a leaf do not match its hash: checksum_mismatch (F26), naming their range in the file.
[[nodiscard]] Error damaged_bytes(std::uint64_t file_offset, std::uint64_t size);

// Keeps the leaves that were read last, and remembers which were compared: each is hashed about once, whatever steps
// jump to and fro. (Bytes that change after their leaf was compared are found by the hash of the record.)
// Memory: 8 MiB, and 1/4096 of the segments that were read from.
//
// Threads: one at a time.
class CheckedBytes {
 public:
  enum class Again {
    kCompare,  // a leaf that was given up is compared again when it is asked for again, unless little of it is
    kTrust,    // compared once, it is taken as it is: for who compares the whole at the end
  };
  // The caller counts the bytes that it asks for; what is read beside them for a comparison is counted here.
  CheckedBytes(const mapping::OsFile& file, const Toc& toc, WorkBudget budget, Again again = Again::kCompare);

  // Hands on `range` of the file in pieces of at most one leaf. Requires: it lies in one payload or packed segment.
  // Errors: checksum_mismatch (F26: bytes or leaf hashes damaged), truncated, io; limit_exceeded (WorkBudget); what
  // `sink` returns.
  [[nodiscard]] Status read(ByteRange range, const StreamSink& sink);
  // The same into `out`, from `file_offset` on.
  [[nodiscard]] Status read_into(std::uint64_t file_offset, std::span<std::byte> out);
  // Gives up the leaves that it keeps.
  void rest() noexcept;

 private:
  struct Held {
    std::uint32_t segment = kNoSegment;
    std::uint64_t leaf = 0;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] Result<ByteView> part(std::uint32_t segment, std::uint64_t leaf, ByteRange in_leaf);

  const mapping::OsFile& file_;
  const Toc& toc_;
  WorkBudget budget_;
  Again again_;
  LeafHashes hashes_;
  std::vector<Held> held_;
  std::map<std::uint32_t, std::vector<bool>> good_;  // leaves, by segment
  std::vector<std::byte> small_;
};

}  // namespace fatctx::container
