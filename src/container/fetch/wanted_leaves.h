// The leaves that a fetch or a repair brings into a file: which it wants, which are there, and what must match before a
// leaf is written.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "container/format/byte_set.h"
#include "container/read/leaves.h"
#include "mapping/os_file.h"

namespace fatctx::container {

struct WantedLeaf {
  std::uint32_t segment = 0;
  std::uint64_t leaf = 0;  // in the segment
  ByteRange in_file;
  Hash128 hash;
};

// The hashes that a leaf must match: all that the table names, or XXH3 alone where the file lacks the others.
enum class Proof : std::uint8_t { kAll, kWhatIsThere };
// The fate of bytes that are neither right nor zeros.
enum class Wrong : std::uint8_t { kMakeHole, kKeep };

// Ownership: borrows the table and the file. Threads: one at a time.
class WantedLeaves {
 public:
  // `leaves` are sorted and joined. Reads their hashes from the file: XXH3, and SHA-256 where the table names them.
  // Errors: those of read_leaves.
  [[nodiscard]] static Result<WantedLeaves> make(mapping::OsFile& file, const Toc& toc,
                                                 const std::vector<SegmentLeaves>& leaves, Proof proof = Proof::kAll);

  // Returns the leaves that are not there, whole.
  [[nodiscard]] const ByteSet& missing() const noexcept { return missing_; }
  // Returns their bytes that nobody has given or guessed.
  [[nodiscard]] ByteSet lacking() const;
  [[nodiscard]] std::uint64_t lacking_bytes() const noexcept { return missing_.bytes() - unproven_.bytes(); }
  // Returns the missing leaves, in the order of the file.
  [[nodiscard]] std::vector<WantedLeaf> missing_leaves() const;
  // Looks at what the file has already. Leaves that match are no longer missing.
  [[nodiscard]] Status look_at_file(Wrong wrong = Wrong::kMakeHole);
  // Takes bytes of the file at `offset`; keeps parts of leaves until the rest comes, the latest 256 of them. Writes
  // each missing leaf that is complete and matches.
  // Errors: checksum_mismatch (F26: bytes of a leaf are not the container's; all other leaves were taken), io,
  // no_space.
  [[nodiscard]] Status take(std::uint64_t offset, ByteView bytes);
  // Takes bytes that are probably those of the file at `offset`. In missing leaves they are written at once, and the
  // leaf is complete when take() or guess() brings the rest. If it does not match then, it becomes a hole again, and is
  // missing as a whole. Errors: io, no_space.
  [[nodiscard]] Status guess(std::uint64_t offset, ByteView bytes);
  // Returns how many bytes were guessed, without those that turned out wrong.
  [[nodiscard]] std::uint64_t guessed_bytes() const noexcept { return guessed_.bytes(); }

 private:
  struct Run {
    std::uint32_t segment = 0;
    LeafRange range;
    ByteRange in_file;
    Leaves hashes;
  };
  struct Part {  // the bytes of an incomplete leaf
    std::vector<std::byte> bytes;
    ByteSet here;
    std::uint64_t age = 0;
  };

  WantedLeaves(mapping::OsFile& file, const Toc& toc) : file_(&file), toc_(&toc) {}
  [[nodiscard]] ByteRange in_file(const Run& run, std::uint64_t leaf) const noexcept;
  [[nodiscard]] std::vector<Run>::const_iterator first_run_behind(std::uint64_t offset) const noexcept;
  template <typename Body>
  [[nodiscard]] Status for_missing_leaves(ByteRange range, const Body& body);
  [[nodiscard]] Status take_leaf(const Run& run, std::uint64_t leaf, std::uint64_t offset, ByteView bytes);
  [[nodiscard]] Status write_part(const Run& run, std::uint64_t leaf);
  [[nodiscard]] Status add_to_guesses(const Run& run, std::uint64_t leaf, std::uint64_t offset, ByteView bytes);
  [[nodiscard]] Status write_leaf(const Run& run, std::uint64_t leaf, ByteView bytes);
  void drop_oldest_part();

  mapping::OsFile* file_;
  const Toc* toc_;
  std::vector<Run> runs_;                // in the order of the file
  ByteSet missing_;                      // whole leaves
  ByteSet unproven_;                     // in the file: parts of missing leaves that have guessed bytes
  ByteSet guessed_;                      // by guess(); also in leaves that were complete and right
  std::map<std::uint64_t, Part> parts_;  // by the offset of the leaf
  std::uint64_t clock_ = 0;
};

}  // namespace fatctx::container
