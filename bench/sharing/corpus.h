// Inputs with a known amount of equal bytes, and lists of what they are made of, from which floor.py computes how
// little a file that holds all of them can be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/packer.h"
#include "support/sample_files.h"

namespace fatctx::bench {

struct CorpusFile {
  std::string name;
  std::string path;
  std::string arch;                      // "v79"; empty: a weight blob
  std::string unit;                      // of a binary
  std::vector<PackTensor> tensors = {};  // of a weight blob
  std::uint64_t size = 0;
};

struct Corpus {
  std::string name;
  std::vector<CorpusFile> files;
  // Every byte of every file stands in one line of each list: "file<TAB>offset<TAB>size". A part is what a compiler
  // laid down as one; a tile is what it moved as one, so that a matrix in another tiling is a part of its own, made of
  // tiles that are there already.
  std::string parts_list;
  std::string tiles_list;

  [[nodiscard]] std::uint64_t size_bytes() const;
};

// Four chips, two models of the same matrices, code of its own in each file. v75 has every matrix at a place shifted by
// a multiple of 256 bytes, v79 too, and one matrix in 12 in tiles of 1 KiB in another order; v81 has shifts of
// multiples of 4 bytes, one matrix in 8 in another order of tiles, and one in 25 with 64 zeros behind each tile.
// `chip_bytes` is about the size of each of the eight files.
[[nodiscard]] Corpus make_soc4(const BenchFolder& folder, std::uint64_t chip_bytes);

// What a compiler makes of a transformer for five chips: v75; v73 with the same layout; v79 and v81 with 62 and 58 of
// 100 bytes at the same place of a page, the others moved by multiples of 256 bytes; v69 with the tiles of 1 KiB of
// every matrix in another order. One binary each.
[[nodiscard]] Corpus make_transformer(const BenchFolder& folder, std::uint64_t chip_bytes);

// Four weight blobs with tables of their tensors: one with all tensors of the first, in another order; one with four of
// five of them and some of its own; one with its tensors on 256 bytes and not on 64.
[[nodiscard]] Corpus make_tensors(const BenchFolder& folder, std::uint64_t blob_bytes);

// The same without the files of one chip.
[[nodiscard]] Corpus without_chip(const BenchFolder& folder, const Corpus& corpus, const std::string& arch,
                                  std::string name);

// Files that somebody has; nobody knows what they are made of.
struct GivenFiles {
  Corpus files;                      // without lists
  std::vector<CorpusFile> archives;  // *.dlc among them: what a vendor's tools make of the same binaries
};
[[nodiscard]] GivenFiles given_files(const std::vector<std::string>& paths);

// As the packer takes it.
[[nodiscard]] PackRecord record_of(const CorpusFile& file);

}  // namespace fatctx::bench
