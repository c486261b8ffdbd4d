// Finds the leaves of a partial container that are not present: zeros where the leaf hash says otherwise
// (docs/format.md, 5.8).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "container/check/leaf_parts.h"
#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "mapping/look_through.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Where to look for zeros: in holes of the file, without reading payload, or in all of the payload. The latter reads a
// page of each leaf, and the rest of a leaf whose first page is zeros.
enum class LookFor : std::uint8_t { kHoles, kZeros };

// The absent parts of one generation of a file. A leaf without leaf hashes counts as absent if it is zeros. A record
// needs the leaves under its slices and their hashes: XXH3, and with an authenticated table SHA-256 too. A recipe needs
// all of its sources.
// Ownership: borrows the table. Threads: const members from any number.
class AbsentLeaves {
 public:
  // `after` is called after each piece of payload, with its size. Requires: the table is whole.
  // Errors: truncated, io; those of `after`.
  [[nodiscard]] static Result<AbsentLeaves> find(const mapping::OsFile& file, const Toc& toc, LookFor look_for,
                                                 const mapping::AfterPiece& after);

  [[nodiscard]] bool none() const noexcept { return payload_.empty() && hashes_.empty(); }
  // Return the absent bytes of the file, as ranges that ascend and do not touch.
  [[nodiscard]] std::vector<ByteRange> ranges() const;
  [[nodiscard]] std::vector<ByteRange> ranges_of(const RecordInfo& record) const;
  [[nodiscard]] std::uint64_t bytes_of(const RecordInfo& record) const;
  // Returns the bytes of the file that the record needs.
  [[nodiscard]] std::uint64_t needed_bytes_of(const RecordInfo& record) const;

 private:
  // Absent leaves of a segment, with the bytes of those before them.
  struct Run {
    LeafRange leaves;
    std::uint64_t bytes_before = 0;
  };
  class Finder;

  explicit AbsentLeaves(const Toc& toc) : toc_(&toc) {}
  void add(std::uint32_t segment, LeafRange leaves);
  [[nodiscard]] std::uint64_t size_of(std::uint32_t segment, LeafRange leaves) const noexcept;
  [[nodiscard]] std::uint64_t bytes_before(std::uint32_t segment, std::uint64_t leaf) const;
  [[nodiscard]] std::vector<ByteRange> hash_places_of(const std::vector<SegmentLeaves>& leaves) const;
  [[nodiscard]] bool is_absent(ByteRange hash_place) const;

  const Toc* toc_;
  std::map<std::uint32_t, std::vector<Run>> payload_;  // by segment; ascending
  std::vector<ByteRange> hashes_;                      // absent parts of the leaf hashes, ascending
};

}  // namespace fatctx::container
