// Files of several chips that are too large for a test to hold in memory: the same weights in each, and a little code
// of its own.
#pragma once

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "support/chip_corpus.h"
#include "support/sample_container.h"

namespace fatctx::support {

struct ChipFiles {
  std::vector<PackRecord> records;
  std::uint64_t total_bytes = 0;
};

// Writes files of `pieces` times `piece_size` bytes each; every `code_every`th piece belongs to that chip only.
[[nodiscard]] inline ChipFiles write_chip_files(const TempDir& folder, int chips, int pieces, std::size_t piece_size,
                                                int code_every) {
  ChipFiles files;
  for (int chip = 0; chip < chips; ++chip) {
    const std::string path = folder.file("chip" + std::to_string(chip));
    std::ofstream file(path, std::ios::binary);
    std::mt19937_64 code(static_cast<std::uint64_t>(chip) + 100);
    std::mt19937_64 weights(7);
    for (int piece = 0; piece < pieces; ++piece) {
      const Bytes bytes = random_bytes(piece % code_every == 0 ? code : weights, piece_size);
      file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      files.total_bytes += bytes.size();
    }
    files.records.push_back(binary_record("chip" + std::to_string(chip), "v" + std::to_string(chip), {}));
    files.records.back().source = {path, {}};
  }
  return files;
}

}  // namespace fatctx::support
