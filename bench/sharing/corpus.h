// Makes inputs with a known amount of equal bytes, and lists of their parts. From these, floor.py computes
// the least size of a file that holds all of them.
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
  std::vector<PackRange> ranges = {};    // of a binary: its matrices
  std::uint64_t size = 0;
};

struct Corpus {
  std::string name;
  std::vector<CorpusFile> files;
  // Every byte of every file belongs to one line of each list: "file<TAB>offset<TAB>size". A part is a range
  // that a compiler laid out at once; a tile is one that it moved at once. A matrix in another tiling is
  // therefore a new part, made of tiles that already exist.
  std::string parts_list;
  std::string tiles_list;

  [[nodiscard]] std::uint64_t size_bytes() const;
};

// Makes four chips, two models of the same matrices, and different code in each file.
//
// In v75 and v79 every matrix is shifted by a multiple of 256 bytes. In v79 also one matrix in 12 has its
// tiles of 1 KiB in another order. v81 has shifts of multiples of 4 bytes. There one matrix in 8 has another
// order of tiles, and one in 25 has 64 zeros after each tile. `chip_bytes` is about the size of each of the
// eight files.
[[nodiscard]] Corpus make_soc4(const BenchFolder& folder, std::uint64_t chip_bytes);

// Makes one binary for each of five chips, like a compiler's output for a transformer.
//
// v73 has the same layout as v75. v79 and v81 have 62 and 58 of 100 bytes at the same offset in a page, and
// the others moved by multiples of 256 bytes. v69 has the tiles of 1 KiB of every matrix in another order.
[[nodiscard]] Corpus make_transformer(const BenchFolder& folder, std::uint64_t chip_bytes);

// Makes four weight blobs with tables of their tensors. The second has all tensors of the first, in another
// order. The third has four of five of them and some of its own. The fourth aligns them to 256 bytes and not
// to 64.
[[nodiscard]] Corpus make_tensors(const BenchFolder& folder, std::uint64_t blob_bytes);

// Returns the same corpus without the files of one chip.
[[nodiscard]] Corpus without_chip(const BenchFolder& folder, const Corpus& corpus, const std::string& arch,
                                  std::string name);

// A set of files from the user; their parts are unknown.
struct GivenFiles {
  Corpus files;                      // without lists
  std::vector<CorpusFile> archives;  // *.dlc among them: the vendor's archive of the same binaries
};
[[nodiscard]] GivenFiles given_files(const std::vector<std::string>& paths);

// Returns the file as a record for the packer.
[[nodiscard]] PackRecord record_of(const CorpusFile& file);

// Returns the file as a weight blob whose matrices are known.
[[nodiscard]] PackRecord blob_of(const CorpusFile& file);

}  // namespace fatctx::bench
