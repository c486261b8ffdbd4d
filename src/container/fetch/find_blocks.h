// Finds blocks of a container, by its block index, at any offset of files that are here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "container/format/byte_set.h"
#include "container/sharing/work_progress.h"
#include "container/update/block_index.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// The blocks of a container that somebody lacks, without those that were found.
// Memory: 20 bytes for each block, and 1 MiB.
class WantedBlocks {
 public:
  // Takes bytes that are probably those of the container at `offset`: the keys of their blocks are equal.
  using Found = std::function<Status(std::uint64_t offset, ByteView bytes)>;

  // Wants the whole blocks in `missing`.
  WantedBlocks(const BlockIndex& index, const ByteSet& missing);

  [[nodiscard]] bool empty() const noexcept { return left_ == 0; }
  // Reads all of a file, as far as it can be read, or until nothing is wanted any more. Each block is found once.
  // Time: linear in `size`; at worst it hashes a block for each byte. Errors: those of `found`; cancelled.
  [[nodiscard]] Status find_in(const mapping::OsFile& file, std::uint64_t size, const Found& found,
                               WorkProgress& progress);

 private:
  struct Wanted {
    std::uint64_t key = 0;
    std::uint32_t block = 0;
    bool found = false;
  };
  class Run;

  [[nodiscard]] bool may_be(std::uint32_t rolling) const noexcept {
    const std::uint32_t bit = rolling * kSpread >> filter_shift_;
    return (filter_[bit / 64] >> bit % 64 & 1U) != 0;
  }
  [[nodiscard]] Result<bool> take_if_wanted(std::uint32_t rolling, ByteView block, Run& run);

  static constexpr std::uint32_t kSpread = 0x85ebca6b;  // the low bits of a rolling hash know few bits of a block

  unsigned block_log2_;
  RollingHash rolling_;
  std::vector<Wanted> wanted_;  // by key, then by block
  std::vector<std::uint64_t> filter_;
  unsigned filter_shift_ = 0;
  std::size_t left_ = 0;
};

}  // namespace fatctx::container
