// Binaries as compilers make them for one family of chips: the same weights in each, and a little code of its own.
// Sections are moved by multiples of 256 bytes or have their rows in another order. The corpus is deterministic: a byte
// depends only on the seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string_view>
#include <vector>

#include "fatctx/base/little_endian.h"
#include "support/temp_dir.h"

namespace fatctx::support {

// Makes the same bytes on every machine: the packer's choice of a base depends on them.
[[nodiscard]] inline Bytes random_bytes(std::mt19937_64& random, std::size_t size) {
  Bytes bytes((size + 7) / 8 * 8);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const LittleEndian<std::uint64_t> word(random());
    std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
  bytes.resize(size);
  return bytes;
}

struct ChipCorpus {
  std::vector<Bytes> chips;       // 0: original; 1: other code, same offsets; 2: sections shifted; 3: rows in tiles
  std::uint64_t floor_bytes = 0;  // every weight and every code section once, at any byte offset; tiles not counted
};

struct ChipCorpusShape {
  std::size_t tensors = 24;
  std::size_t rows = 128;
  std::size_t row_size = 1024;  // bytes; a multiple of 256
  std::size_t code_size = 20'000;
};

[[nodiscard]] inline ChipCorpus make_chip_corpus(std::uint64_t seed, ChipCorpusShape shape = {}) {
  std::mt19937_64 random(seed);
  ChipCorpus corpus;
  corpus.chips.resize(4);
  for (Bytes& chip : corpus.chips) {  // all code sections have the same size, so that weights start at the same offset
    chip = random_bytes(random, shape.code_size);
    corpus.floor_bytes += shape.code_size;
    chip.resize((shape.code_size + 4095) / 4096 * 4096);
  }
  for (std::size_t tensor = 0; tensor < shape.tensors; ++tensor) {
    const Bytes weights = random_bytes(random, shape.rows * shape.row_size);
    corpus.floor_bytes += weights.size();
    corpus.chips[0].insert(corpus.chips[0].end(), weights.begin(), weights.end());
    corpus.chips[1].insert(corpus.chips[1].end(), weights.begin(), weights.end());
    // Every third tensor shifts this chip; after sixteen such shifts pages align again.
    if (tensor % 3 == 1) corpus.chips[2].resize(corpus.chips[2].size() + 256 * (1 + random() % 15));
    corpus.chips[2].insert(corpus.chips[2].end(), weights.begin(), weights.end());
    for (std::size_t half = 0; half < 2; ++half) {  // even rows, then odd rows
      for (std::size_t row = half; row < shape.rows; row += 2) {
        const auto from = weights.begin() + static_cast<std::ptrdiff_t>(row * shape.row_size);
        corpus.chips[3].insert(corpus.chips[3].end(), from, from + static_cast<std::ptrdiff_t>(shape.row_size));
      }
    }
  }
  return corpus;
}

// Returns the number of different granules in all of these, each padded with zeros to a whole granule. This is the
// minimum that a file must store to map them. It is counted without any hash.
[[nodiscard]] inline std::size_t distinct_granules(const std::vector<Bytes>& all, std::size_t granule) {
  std::vector<Bytes> padded = all;
  std::set<std::string_view> seen;
  for (Bytes& bytes : padded) {
    bytes.resize((bytes.size() + granule - 1) / granule * granule);
    const char* text = reinterpret_cast<const char*>(bytes.data());
    for (std::size_t at = 0; at < bytes.size(); at += granule) seen.insert({text + at, granule});
  }
  return seen.size();
}

}  // namespace fatctx::support
