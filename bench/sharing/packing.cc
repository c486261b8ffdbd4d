// Measures rate and memory of packing. Files are in memory (tmpfs) if the system has it, so that no disk sync
// counts. A packer that stores a quarter of the bytes would win by that alone.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "container/format/disk_format.h"
#include "container/format/hash.h"
#include "mapping/filesystem_kind.h"
#include "sharing/questions.h"
#include "support/or_stop.h"
#include "support/process_memory.h"
#include "support/raw_file.h"

namespace fatctx::bench {
namespace {

constexpr double kMiB = 1024 * 1024;

// Reads, hashes leaf by leaf, and writes: the least work of every packer with checksums. One thread.
void hash_and_write(const Corpus& corpus, std::span<std::byte> buffer, const std::string& path, bool sync) {
  RawOutput out(path);
  std::vector<Hash128> hashes;
  for (const CorpusFile& file : corpus.files) {
    const mapping::UniqueFd source = open_raw(file.path);
    read_in_pieces(source, {0, file.size}, buffer, [&](ByteView piece) {
      for (ByteView rest = piece; !rest.empty();) {
        const ByteView leaf = rest.first(std::min<std::size_t>(rest.size(), container::kLeafSize));
        hashes.push_back(container::hash128(leaf));
        rest = rest.subspan(leaf.size());
      }
      out.write(piece);
    });
  }
  out.write(std::as_bytes(std::span(hashes)));
  out.close(sync);
}

bool in_memory(const std::string& folder) {
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) return false;
  return ::access(folder.c_str(), W_OK) == 0 && describe_machine(folder).filesystem == "tmpfs";
}

void add_rates(Report& report, const Options& options, const BenchFolder& folder, const Corpus& corpus) {
  constexpr double kLeastPages = 0.8;
  constexpr double kLeastBytes = 0.2;
  const std::string memory = "/dev/shm";
  // At most one whole copy, which all sides make in turn.
  const bool fits = in_memory(memory) && std::filesystem::space(memory).available > 2 * corpus.size_bytes() &&
                    available_memory() > 4 * corpus.size_bytes();
  std::optional<BenchFolder> made_in;
  if (fits) made_in.emplace(memory);
  if (!fits) report.notes.push_back("packing: no memory filesystem with room; files are made and synced on the disk");
  const std::string made = made_in ? made_in->path("made") : folder.path("made");
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  const auto unlink_it = [&] { (void)::unlink(made.c_str()); };
  const auto packing = [&](Sharing sharing) { return [&, sharing] { (void)pack(corpus.files, sharing, made); }; };
  const Side sides[] = {
      {"read, hash, write, one thread", [&] { hash_and_write(corpus, buffer, made, !fits); }, unlink_it},
      {"fatctx, off", packing(Sharing::kOff), unlink_it},
      {"fatctx, pages", packing(Sharing::kPages), unlink_it},
      {"fatctx, bytes", packing(Sharing::kBytes), unlink_it},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
  for (std::size_t i = 0; i < std::size(sides); ++i) {
    Row row = timed_row(fmt::format("pack {}: {}", corpus.name, sides[i].name), "hashed", corpus.size_bytes(), took[i]);
    if (i == 2) row.target = at_least("1 / med ratio", 1 / row.median_ratio.value_or(1), kLeastPages);
    if (i == 3) row.target = at_least("1 / med ratio", 1 / row.median_ratio.value_or(1), kLeastBytes);
    report.rows.push_back(std::move(row));
  }
  unlink_it();
}

void add_memory(Report& report, const BenchFolder& folder, const Corpus& corpus) {
  constexpr double kMostPerByte = 0.4;
  constexpr double kMostOnTopMiB = 64;
  const std::string made = folder.path("made");
  for (const auto& [sharing, name] : {std::pair{Sharing::kPages, "pages"}, std::pair{Sharing::kBytes, "bytes"}}) {
    PackReport packed;
    const std::int64_t grown = peak_growth([&, which = sharing] { packed = pack(corpus.files, which, made); });
    const double most = kMostPerByte * static_cast<double>(packed.stored_bytes) / kMiB + kMostOnTopMiB;
    Row row;
    row.what = fmt::format("memory of packing {}, {}", corpus.name, name);
    row.policy = "hashed";
    row.size_bytes = corpus.size_bytes();
    row.unit = "MiB";
    row.minimum = row.median = static_cast<double>(grown) / kMiB;
    row.target = at_most("0.4 a stored byte + 64 MiB", row.median, std::round(most * 10) / 10);
    report.rows.push_back(std::move(row));
  }
  (void)::unlink(made.c_str());
}

}  // namespace

void add_packing(Report& report, const Options& options, const BenchFolder& folder, const Corpus& corpus) {
  add_memory(report, folder, corpus);
  add_rates(report, options, folder, corpus);
}

}  // namespace fatctx::bench
