// What was written, and whether a disk still has it.
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
  std::string violation;  // empty: the promises hold
  std::uint64_t generation = 0;
  std::uint32_t degraded = 0;
  bool pair_whole = false;  // both slots of the generation that opens
};

// Knows each generation as its appender meant it: by the hash of its table of contents, the bytes of everything that
// is not dead in it.
class Oracle {
 public:
  // `file` is what an append has left. Returns what is wrong with it: it has to be whole, every copy included.
  [[nodiscard]] std::string remember(const Bytes& file);
  // The same of a file that may have lost copies, because its writer did not get so far: its bytes have to be whole.
  [[nodiscard]] std::string remember_generation(const Bytes& file);
  void forget(const Bytes& file);

  // Of a state that a crash left: it opens with the generation `acknowledged` or a later one; that one is as it was
  // meant, and so is every earlier one that it lists, which are all of them.
  [[nodiscard]] Found look(const Bytes& image, std::uint64_t size, std::uint64_t acknowledged) const;

 private:
  struct Meant {
    Bytes file;
    std::vector<ByteRange> ranges;    // live segments
    std::array<ByteRange, 2> tables;  // copies of the table of contents, of which one is enough
  };
  [[nodiscard]] bool as_meant(const Hash128& toc_hash, const Bytes& image, std::uint64_t size,
                              std::string& violation) const;

  std::map<Hash128, Meant> meant_;
};

}  // namespace fatctx::crash
