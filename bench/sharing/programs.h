// Programs beside fatctx that the bench runs: the one that computes floors, and a compressor as a rival.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sharing/corpus.h"

namespace fatctx::bench {

struct Floor {
  std::uint64_t parts = 0;  // bytes of different parts: where another tiling of a matrix is another part
  std::uint64_t tiles = 0;  // bytes of different tiles: nobody who only copies can store less
  std::uint64_t pages = 0;  // bytes of different pages of 4 KiB: nobody who only maps can store less
};
// What floor.py says; stops the bench if it cannot.
[[nodiscard]] Floor floor_of(const Corpus& corpus);

// Bytes of all files behind each other after `zstd -3 --long=27`; nothing if there is no such program.
[[nodiscard]] std::optional<std::uint64_t> zstd_size(const Corpus& corpus);

}  // namespace fatctx::bench
