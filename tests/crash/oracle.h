// The record of everything that was written, and the check that a disk still has it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "container/read/open.h"
#include "crash/recording_file.h"

namespace fatctx::crash {

[[nodiscard]] Result<container::OpenedToc> opened(const Bytes& bytes, std::uint64_t size);
[[nodiscard]] std::uint64_t generation_of(const Bytes& file);  // throws if it does not open

struct Found {
  std::string violation;  // empty if the promises hold
  std::uint64_t generation = 0;
  std::uint32_t degraded = 0;
  bool pair_whole = false;  // both slots of the generation that opens
};

// A memory of each generation as its appender meant it. The key is the hash of the generation's table of contents; the
// value is every byte of it that is not dead.
class Oracle {
 public:
  // Remembers `file`, the result of an append. Returns a violation unless the file is whole, every copy included.
  // Only the padding of its header may have been lost.
  [[nodiscard]] std::string remember(const Bytes& file);
  // Does the same for a file that may have lost copies because its writer did not get so far. Its bytes must be whole.
  [[nodiscard]] std::string remember_generation(const Bytes& file);
  void forget(const Bytes& file);

  // Checks a state that a crash left. It must open with the generation `acknowledged` or a later one. That generation
  // and every earlier one that it lists must be as meant, and it must list all of them.
  [[nodiscard]] Found look(const Bytes& image, std::uint64_t size, std::uint64_t acknowledged) const;

 private:
  struct Meant {
    Bytes file;
    std::vector<ByteRange> ranges;    // live segments
    std::array<ByteRange, 2> tables;  // copies of the table of contents; one is enough
  };
  [[nodiscard]] bool as_meant(const Hash128& toc_hash, const Bytes& image, std::uint64_t size,
                              std::string& violation) const;

  std::map<Hash128, Meant> meant_;
};

}  // namespace fatctx::crash
