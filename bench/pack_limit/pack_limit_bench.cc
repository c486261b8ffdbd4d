// Measures packing against the least that it can cost: one pass over the input to hash it, and one write of the bytes
// that must be stored. Inputs are in the page cache. New files are in memory (tmpfs) if the system has it, so that no
// disk sync counts.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "container/format/disk_format.h"
#include "container/format/hash.h"
#include "fatctx/packer.h"
#include "sharing/corpus.h"
#include "sharing/programs.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/paired_loop.h"
#include "support/raw_file.h"

namespace fatctx::bench {
namespace {

constexpr std::size_t kWriteUnit = std::size_t{1} << 20;

using Records = std::vector<PackRecord> (*)(const Corpus&);

std::vector<PackRecord> as_they_are(const Corpus& corpus) {
  std::vector<PackRecord> records;
  for (const CorpusFile& file : corpus.files) records.push_back(record_of(file));
  return records;
}

std::vector<PackRecord> as_blobs(const Corpus& corpus) {
  std::vector<PackRecord> records;
  for (const CorpusFile& file : corpus.files) records.push_back(blob_of(file));
  return records;
}

// Hashes every leaf of the mapped input, then writes the first `stored` bytes of it. One thread.
void hash_and_write(const Corpus& corpus, std::uint64_t stored, const std::string& path) {
  RawOutput out(path);
  std::vector<Hash128> hashes;
  for (const CorpusFile& file : corpus.files) {
    const RawMap map(file.path);
    for (ByteView rest = map.bytes(); !rest.empty();) {
      const ByteView leaf = rest.first(std::min<std::size_t>(rest.size(), container::kLeafSize));
      hashes.push_back(container::hash128(leaf));
      rest = rest.subspan(leaf.size());
    }
    for (ByteView rest = map.bytes(); !rest.empty() && stored != 0;) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>({rest.size(), kWriteUnit, stored}));
      out.write(rest.first(size));
      rest = rest.subspan(size);
      stored -= size;
    }
  }
  out.write(std::as_bytes(std::span(hashes)));
  out.close(false);
}

void pack_records(const Corpus& corpus, Records records, Sharing sharing, const std::string& path) {
  PackOptions options;
  options.overwrite = true;
  options.model_name = "bench";
  options.sharing = sharing;
  Packer packer(options);
  for (PackRecord& record : records(corpus)) or_stop(packer.add(std::move(record)));
  (void)or_stop(packer.publish(path));
}

// A way to pack, and the most time that it may take, in times of the limit or of another way.
struct Way {
  const char* name;
  Records records;
  Sharing sharing;
  double most;
  bool of_off = false;  // the target is relative to sharing off, not to the limit
};

void add_ways(Report& report, const Options& options, const std::string& made, const Corpus& corpus,
              std::uint64_t stored, const std::vector<Way>& ways) {
  const auto unlink_it = [&] { (void)::unlink(made.c_str()); };
  std::vector<Side> sides = {
      {fmt::format("limit: hash, write {} bytes", stored), [&] { hash_and_write(corpus, stored, made); }, unlink_it}};
  for (const Way& way : ways) {
    sides.push_back({fmt::format("fatctx, {}", way.name),
                     [&corpus, &made, way] { pack_records(corpus, way.records, way.sharing, made); }, unlink_it});
  }
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
  double off = 0;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Row row = timed_row(fmt::format("{}: {}", corpus.name, sides[i].name), "hashed", corpus.size_bytes(), took[i]);
    if (i != 0) {
      const Way& way = ways[i - 1];
      const double ratio = row.median_ratio.value_or(0);
      if (way.sharing == Sharing::kOff) off = ratio;
      row.target =
          way.of_off ? at_most("of sharing off", ratio / off, way.most) : at_most("med ratio", ratio, way.most);
    }
    report.rows.push_back(std::move(row));
  }
  unlink_it();
}

// Makes blobs that have nothing in common. One blob has as many tensors as a language model.
Corpus make_different(const BenchFolder& folder, std::uint64_t total, std::size_t blobs, std::size_t tensors) {
  Corpus corpus;
  corpus.name = blobs == 1 ? fmt::format("1 blob of {} tensors", tensors) : fmt::format("{} blobs", blobs);
  for (std::size_t i = 0; i < blobs; ++i) {
    CorpusFile file;
    file.name = fmt::format("different-{}-{}", blobs, i);
    file.path = folder.path(file.name);
    file.size = total / blobs;
    RawOutput out(file.path);
    std::uint64_t seed = blobs * 1000 + i;
    while (out.size() < file.size) {
      const std::uint64_t size = std::min<std::uint64_t>(file.size - out.size(), kWriteUnit * 16);
      out.write(weights_bytes(size, seed));
      seed += 100;
    }
    out.close(true);
    for (std::size_t tensor = 0; tensor < tensors; ++tensor) {
      const std::uint64_t size = file.size / tensors / 64 * 64;
      file.tensors.push_back({.name = fmt::format("tensor.{}", tensor),
                              .shape = {size},
                              .offset_in_blob = tensor * size,
                              .size_bytes = size});
    }
    corpus.files.push_back(std::move(file));
  }
  return corpus;
}

bool in_memory(const std::string& folder) {
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) return false;
  return ::access(folder.c_str(), W_OK) == 0 && describe_machine(folder).filesystem == "tmpfs";
}

Report measure(const Options& options, const BenchFolder& folder) {
  const std::uint64_t chip = options.smoke ? 1'000'000 : options.full ? 93'000'000 : 25'000'000;
  const std::uint64_t different = options.smoke ? 4'000'000 : options.full ? 1'200'000'000 : 200'000'000;
  const std::string memory = "/dev/shm";
  std::error_code none;
  const bool fits = in_memory(memory) && std::filesystem::space(memory, none).available > 2 * (8 * chip + different);
  std::optional<BenchFolder> in_tmpfs;
  if (fits) in_tmpfs.emplace(memory);
  const std::string made = in_tmpfs ? in_tmpfs->path("made") : folder.path("made");
  Report report;
  report.question = "Packing against hashing the input and writing what must be stored";
  report.workload = fmt::format("4 chips x 2 models of {} MB each; {} MB that have nothing in common", chip / 1'000'000,
                                different / 1'000'000);
  report.notes = {
      fmt::format("A B A B in one process, {} repetitions of one call; ratios are to the first row of the group",
                  options.repetitions),
      "limit: hash every leaf of the mapped input, write the bytes of the different parts; one thread, no sync",
      "tensors: the files as weight blobs whose matrices are known, sharing by pages",
      in_tmpfs ? "new files in memory (tmpfs): no sync of a disk"
               : "no memory filesystem with room: pack syncs the disk",
  };
  {
    const Corpus soc4 = make_soc4(folder, chip);
    add_ways(report, options, made, soc4, floor_of(soc4).parts,
             {{"off", as_they_are, Sharing::kOff, 4},
              {"pages", as_they_are, Sharing::kPages, 4.5},
              {"tensors", as_blobs, Sharing::kPages, 4.5},
              {"bytes", as_they_are, Sharing::kBytes, 7}});
    for (const CorpusFile& file : soc4.files) (void)::unlink(file.path.c_str());
  }
  for (const auto& [blobs, tensors] : {std::pair<std::size_t, std::size_t>{8, 0}, {1, 514}}) {
    const Corpus corpus = make_different(folder, different, blobs, tensors);
    add_ways(report, options, made, corpus, corpus.size_bytes(),
             {{"off", as_they_are, Sharing::kOff, 2.5},
              {"pages", as_they_are, Sharing::kPages, 2.5},
              {"bytes", as_they_are, Sharing::kBytes, 2, true}});
    for (const CorpusFile& file : corpus.files) (void)::unlink(file.path.c_str());
  }
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Packing against the least that it can cost", 9, fatctx::bench::measure,
                                  {.full = true});
}
