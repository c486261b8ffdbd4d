// Binaries as compilers for one family of chips make them: the same weights in each, a little code of its own, sections
// moved by multiples of 256 bytes or stored in another order of their rows. Deterministic; a byte depends on the seed
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string_view>
#include <vector>

#include "support/temp_dir.h"

namespace fatctx::support {

[[nodiscard]] inline Bytes random_bytes(std::mt19937_64& random, std::size_t size) {
  Bytes bytes((size + 7) / 8 * 8);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
  bytes.resize(size);
  return bytes;
}

struct ChipCorpus {
  std::vector<Bytes> chips;       // 0: as it is; 1: other code, same places; 2: sections shifted; 3: rows in tiles
  std::uint64_t floor_bytes = 0;  // every weight and every code section once, at any byte offset, tiles not counted
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
  for (Bytes& chip : corpus.chips) {  // all code sections are equally long, so that weights start at the same place
    chip = random_bytes(random, shape.code_size);
    corpus.floor_bytes += shape.code_size;
    chip.resize((shape.code_size + 4095) / 4096 * 4096);
  }
  for (std::size_t tensor = 0; tensor < shape.tensors; ++tensor) {
    const Bytes weights = random_bytes(random, shape.rows * shape.row_size);
    corpus.floor_bytes += weights.size();
    corpus.chips[0].insert(corpus.chips[0].end(), weights.begin(), weights.end());
    corpus.chips[1].insert(corpus.chips[1].end(), weights.begin(), weights.end());
    // Every third tensor moves this chip on; sixteen such moves, and pages meet again.
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

// Different contents of whole granules in all of these, the last one of each filled up with zeros: what a file that
// maps them must at least hold. Counted without any hash.
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
