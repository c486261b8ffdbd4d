// Runs other programs for the bench: the one that computes floors, and a compressor as a rival.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sharing/corpus.h"

namespace fatctx::bench {

struct Floor {
  std::uint64_t parts = 0;  // bytes of different parts; another tiling of a matrix is another part
  std::uint64_t tiles = 0;  // bytes of different tiles: copying alone cannot store less
  std::uint64_t pages = 0;  // bytes of different pages of 4 KiB: mapping alone cannot store less
};
// Runs floor.py and returns its figures; stops the bench if that fails.
[[nodiscard]] Floor floor_of(const Corpus& corpus);

// Returns the size of all files, concatenated, after `zstd -3 --long=27`; nothing if there is no such
// program.
[[nodiscard]] std::optional<std::uint64_t> zstd_size(const Corpus& corpus);

}  // namespace fatctx::bench
