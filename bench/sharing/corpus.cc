#include "sharing/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <span>

#include <fmt/format.h>

#include "support/or_stop.h"
#include "support/raw_file.h"

namespace fatctx::bench {
namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

constexpr std::size_t kTile = 1024;
constexpr std::uint64_t kPage = 4096;

// A writer of the lists of a corpus, while its files are written.
class Lists {
 public:
  Lists(const BenchFolder& folder, Corpus& corpus)
      : parts_((corpus.parts_list = folder.path(corpus.name + ".parts"))),
        tiles_((corpus.tiles_list = folder.path(corpus.name + ".tiles"))) {}
  void part(const std::string& path, std::uint64_t offset, std::uint64_t size) { add(parts_, path, offset, size); }
  void tile(const std::string& path, std::uint64_t offset, std::uint64_t size) { add(tiles_, path, offset, size); }
  void close() {
    parts_.close(false);
    tiles_.close(false);
  }

 private:
  static void add(RawOutput& list, const std::string& path, std::uint64_t offset, std::uint64_t size) {
    const std::string line = fmt::format("{}\t{}\t{}\n", path, offset, size);
    list.write(std::as_bytes(std::span(line)));
  }
  RawOutput parts_;
  RawOutput tiles_;
};

// A writer of one file of a corpus.
class FileOfParts {
 public:
  FileOfParts(std::string path, Lists& lists) : path_(std::move(path)), out_(path_), lists_(lists) {}

  // Adds a part that compilers move as a whole.
  void part(ByteView bytes) { part_of_tiles(bytes, {bytes.size()}); }
  // Adds a part of tiles of these sizes, one after the other.
  void part_of_tiles(ByteView bytes, const std::vector<std::size_t>& tile_sizes) {
    if (bytes.empty()) return;
    lists_.part(path_, out_.size(), bytes.size());
    std::uint64_t at = out_.size();
    for (const std::size_t size : tile_sizes) {
      lists_.tile(path_, at, size);
      at += size;
    }
    out_.write(bytes);
  }
  // Adds whole tiles, in whichever order.
  void matrix(ByteView bytes) { part_of_matrix(bytes, std::vector<std::size_t>(bytes.size() / kTile, kTile)); }
  void part_of_matrix(ByteView bytes, const std::vector<std::size_t>& tile_sizes) {
    ranges_.push_back({fmt::format("matrix {}", ranges_.size()), out_.size(), bytes.size()});
    part_of_tiles(bytes, tile_sizes);
  }
  // Adds bytes that only this file holds.
  void own(std::uint64_t size, std::uint64_t seed) { part(weights_bytes(size, seed)); }

  [[nodiscard]] std::uint64_t size() const noexcept { return out_.size(); }
  // Syncs the file, so that no later measurement pays for it.
  CorpusFile close(std::string name, std::string arch, std::string unit) {
    CorpusFile file{std::move(name), path_, std::move(arch), std::move(unit)};
    file.size = out_.size();
    file.ranges = std::move(ranges_);
    out_.close(true);
    return file;
  }

 private:
  std::string path_;
  RawOutput out_;
  Lists& lists_;
  std::vector<PackRange> ranges_;
};

// Makes matrices of 16 KiB to 1 MiB, in whole tiles, of about `total` bytes together.
std::vector<Bytes> make_matrices(std::uint64_t total, Random& random) {
  constexpr std::uint64_t kLeast = 16;
  constexpr std::uint64_t kDoublings = 6;
  std::vector<Bytes> matrices;
  for (std::uint64_t made = 0; made < total; made += matrices.back().size()) {
    const std::uint64_t least = kLeast << (random() % kDoublings);
    const std::uint64_t rest = (total - made + kTile - 1) / kTile;
    matrices.push_back(weights_bytes(kTile * std::min(least + random() % least, rest), random()));
  }
  return matrices;
}

std::vector<std::size_t> shuffled(std::size_t count, Random& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);  // the same on every host
  return order;
}

// Adds the matrix with its tiles in another order.
void add_retiled(FileOfParts& file, ByteView matrix, std::uint64_t seed) {
  Random random(seed);
  Bytes made;
  made.reserve(matrix.size());
  for (const std::size_t tile : shuffled(matrix.size() / kTile, random)) {
    const ByteView bytes = matrix.subspan(tile * kTile, kTile);
    made.insert(made.end(), bytes.begin(), bytes.end());
  }
  file.matrix(made);
}

// Adds the matrix with 64 zeros after each tile.
void add_padded(FileOfParts& file, ByteView matrix) {
  constexpr std::size_t kPadding = 64;
  Bytes made;
  std::vector<std::size_t> tiles;
  for (std::size_t at = 0; at < matrix.size(); at += kTile) {
    const ByteView row = matrix.subspan(at, kTile);
    made.insert(made.end(), row.begin(), row.end());
    made.resize(made.size() + kPadding);
    tiles.insert(tiles.end(), {kTile, kPadding});
  }
  file.part_of_matrix(made, tiles);
}

struct Soc4Chip {
  const char* arch;
  std::uint64_t shift_unit;        // 0: matrices follow each other
  std::size_t retile_every = 0;    // one matrix in so many; 0: none
  std::size_t pad_rows_every = 0;  // the same
};

constexpr Soc4Chip kSoc4Chips[] = {
    {"v73", 0},
    {"v75", 256},
    {"v79", 256, 12},
    {"v81", 4, 8, 25},
};

void add_soc4_matrix(FileOfParts& file, const Soc4Chip& chip, std::size_t index, ByteView matrix) {
  const auto one_in = [&](std::size_t every) { return every != 0 && index % every == every / 2; };
  if (one_in(chip.retile_every)) return add_retiled(file, matrix, 1000 * chip.retile_every + index);
  if (one_in(chip.pad_rows_every)) return add_padded(file, matrix);
  file.matrix(matrix);
}

// Returns the number of bytes to insert before a matrix that begins at `base` in the first chip. Its offset
// in a page is then `phase` further than there.
std::uint64_t gap_before(std::uint64_t at, std::uint64_t base, std::uint64_t phase) {
  return (base + phase - at) % kPage;  // wraps to the right residue: kPage divides 2^64
}

// A source of phases: the distance of a chip's matrices from their offset in a page of the base.
class Phases {
 public:
  Phases(unsigned congruent_percent, Random& random) : percent_(congruent_percent), random_(random) {}
  // Keeps to the share of bytes, so that it holds for any sizes that were drawn.
  std::uint64_t next(std::uint64_t size) {
    all_ += size;
    if ((congruent_ + size / 2) * 100 <= percent_ * all_) {
      congruent_ += size;
      return 0;
    }
    constexpr std::uint64_t kHalfPageIn5 = 2;
    return random_() % 5 < kHalfPageIn5 ? kPage / 2 : 256 * (1 + random_() % 15);
  }

 private:
  unsigned percent_;
  Random& random_;
  std::uint64_t all_ = 0;
  std::uint64_t congruent_ = 0;
};

struct TransformerChip {
  const char* arch;
  unsigned congruent_percent;  // share of matrix bytes that have the same offset in a page as in the base
};

std::uint64_t aligned(std::uint64_t at, std::uint64_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

// Copies the lines of a list that are about these files.
void copy_lines(const std::string& from, const std::string& to, const std::vector<CorpusFile>& about) {
  std::ifstream in(from);
  RawOutput out(to);
  for (std::string line; std::getline(in, line);) {
    const std::string path = line.substr(0, line.find('\t'));
    const auto is_it = [&](const CorpusFile& file) { return file.path == path; };
    if (std::none_of(about.begin(), about.end(), is_it)) continue;
    line += '\n';
    out.write(std::as_bytes(std::span(line)));
  }
  out.close(false);
}

}  // namespace

std::uint64_t Corpus::size_bytes() const {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const CorpusFile& file) { return sum + file.size; });
}

Corpus make_soc4(const BenchFolder& folder, std::uint64_t chip_bytes) {
  Corpus corpus;
  corpus.name = "soc4";
  Lists lists(folder, corpus);
  Random random(4);
  const std::vector<Bytes> matrices = make_matrices(chip_bytes, random);
  const std::uint64_t code = aligned(chip_bytes / 200, 256);
  for (const char* unit : {"prefill", "decode"}) {
    const std::vector<std::size_t> order = shuffled(matrices.size(), random);  // of all chips
    for (const Soc4Chip& chip : kSoc4Chips) {
      const std::string name = fmt::format("soc4-{}-{}", unit, chip.arch);
      FileOfParts file(folder.path(name + ".bin"), lists);
      file.own(code, random());
      for (const std::size_t index : order) {
        if (chip.shift_unit != 0) file.own(random() % (kPage / chip.shift_unit) * chip.shift_unit, random());
        add_soc4_matrix(file, chip, index, matrices[index]);
      }
      corpus.files.push_back(file.close(name, chip.arch, unit));
    }
  }
  lists.close();
  return corpus;
}

Corpus make_transformer(const BenchFolder& folder, std::uint64_t chip_bytes) {
  Corpus corpus;
  corpus.name = "transformer";
  Lists lists(folder, corpus);
  Random random(5);
  const std::vector<Bytes> matrices = make_matrices(chip_bytes, random);
  const std::uint64_t code = aligned(chip_bytes / 1000, kPage);
  for (const TransformerChip& chip :
       std::initializer_list<TransformerChip>{{"v73", 100}, {"v75", 100}, {"v79", 62}, {"v81", 58}}) {
    const std::string name = fmt::format("transformer-{}", chip.arch);
    FileOfParts file(folder.path(name + ".bin"), lists);
    file.own(code, random());
    std::uint64_t base = code;
    Phases phases(chip.congruent_percent, random);
    for (const Bytes& matrix : matrices) {
      if (chip.congruent_percent != 100) {
        file.own(gap_before(file.size(), base, phases.next(matrix.size())), random());
      }
      file.matrix(matrix);
      base += matrix.size();
    }
    file.own(code, random());
    corpus.files.push_back(file.close(name, chip.arch, "main"));
  }
  FileOfParts file(folder.path("transformer-v69.bin"), lists);
  file.own(code, random());
  for (const Bytes& matrix : matrices) add_retiled(file, matrix, random());
  corpus.files.push_back(file.close("transformer-v69", "v69", "main"));
  lists.close();
  return corpus;
}

Corpus make_tensors(const BenchFolder& folder, std::uint64_t blob_bytes) {
  Corpus corpus;
  corpus.name = "tensors";
  Lists lists(folder, corpus);
  Random random(6);
  std::vector<Bytes> tensors;
  for (std::uint64_t made = 0; made < blob_bytes; made += tensors.back().size()) {
    const std::uint64_t least = std::uint64_t{256} << (random() % 13);
    tensors.push_back(weights_bytes(4 * ((least + random() % least) / 4), random()));  // ends anywhere in a page
  }
  const std::uint64_t shared = tensors.size();
  for (std::uint64_t i = 0; i < shared / 30; ++i) tensors.push_back(weights_bytes(tensors[i].size() + 4, random()));
  const Bytes padding(256);
  for (int blob = 0; blob < 4; ++blob) {
    const std::string name = fmt::format("tensors-{}", blob);
    const std::uint64_t alignment = blob == 3 ? 256 : 64;
    FileOfParts file(folder.path(name + ".bin"), lists);
    std::vector<PackTensor> table;
    std::vector<std::size_t> order = shuffled(blob == 2 ? tensors.size() : shared, random);
    if (blob == 0) std::sort(order.begin(), order.end());
    for (const std::size_t index : order) {
      if (blob == 2 && index < shared && index % 5 == 0) continue;
      file.part(ByteView(padding).first(aligned(file.size(), alignment) - file.size()));
      table.push_back({.name = fmt::format("model.tensor.{}", index),
                       .shape = {tensors[index].size()},
                       .offset_in_blob = file.size(),
                       .size_bytes = tensors[index].size()});
      file.part(tensors[index]);
    }
    CorpusFile closed = file.close(name, "", "");
    closed.tensors = std::move(table);
    corpus.files.push_back(std::move(closed));
  }
  lists.close();
  return corpus;
}

Corpus without_chip(const BenchFolder& folder, const Corpus& corpus, const std::string& arch, std::string name) {
  Corpus rest;
  rest.name = std::move(name);
  std::copy_if(corpus.files.begin(), corpus.files.end(), std::back_inserter(rest.files),
               [&](const CorpusFile& file) { return file.arch != arch; });
  rest.parts_list = folder.path(rest.name + ".parts");
  rest.tiles_list = folder.path(rest.name + ".tiles");
  copy_lines(corpus.parts_list, rest.parts_list, rest.files);
  copy_lines(corpus.tiles_list, rest.tiles_list, rest.files);
  return rest;
}

GivenFiles given_files(const std::vector<std::string>& paths) {
  GivenFiles given;
  given.files.name = "given";
  for (const std::string& path : paths) {
    const std::string name = std::filesystem::path(path).filename().string();
    const CorpusFile file{
        .name = name, .path = path, .arch = "any", .unit = name, .size = size_of(open_raw(path), path)};
    (path.ends_with(".dlc") ? given.archives : given.files.files).push_back(file);
  }
  if (given.files.files.empty()) stop("--inputs names no binary");
  return given;
}

PackRecord record_of(const CorpusFile& file) {
  PackRecord record;
  record.name = file.name;
  record.key.group = "bench";
  record.source.path = file.path;
  if (file.arch.empty()) {
    record.type = RecordType::kWeightBlob;
    record.tensors = file.tensors;
  } else {
    record.type = RecordType::kContextBinary;
    record.key.backend = "htp";
    record.key.arch = file.arch;
    record.key.unit = file.unit;
  }
  return record;
}

PackRecord blob_of(const CorpusFile& file) {
  PackRecord record;
  record.name = file.name;
  record.type = RecordType::kWeightBlob;
  record.key.group = "bench";
  record.source.path = file.path;
  record.ranges = file.ranges;
  return record;
}

}  // namespace fatctx::bench
