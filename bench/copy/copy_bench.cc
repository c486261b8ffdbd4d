// Measures reading a record into memory of a consumer that cannot take mapped memory. The limit is the best rate of fio
// for direct reads of the same file, whatever its block size and depth.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fatctx/container.h"
#include "fatctx/extract.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/page_cache.h"
#include "support/process_memory.h"
#include "support/raw_file.h"
#include "support/sample_files.h"

namespace fatctx::bench {
namespace {

constexpr double kLeastOfFio = 0.95;
constexpr std::uint64_t kMostMemoryBeside = std::uint64_t{16} << 20;

struct FreeAligned {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte[], FreeAligned>;

Memory memory_of(std::size_t size) {
  const std::size_t rounded = (size + 65'535) / 65'536 * 65'536;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(65'536, rounded));
  if (memory == nullptr) stop("no memory");
  return Memory(memory);
}

// Runs one job of fio over the whole file. Returns bytes a second; nothing if fio is not installed or refuses.
std::optional<double> rate_of_fio(const std::string& path, const char* engine, int jobs, int depth, const char* block) {
  const std::string command = fmt::format(
      "fio --name=read --filename={} --readonly --rw=read --direct=1 --ioengine={} --bs={} --iodepth={} --numjobs={} "
      "--offset_increment={}% --size={}% --group_reporting --output-format=json 2>/dev/null",
      path, engine, block, depth, jobs, 100 / jobs, 100 / jobs);
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  char piece[4096];
  while (const std::size_t got = std::fread(piece, 1, sizeof piece, pipe)) text.append(piece, got);
  if (::pclose(pipe) != 0) return std::nullopt;
  const auto told = nlohmann::json::parse(text.substr(std::min(text.find('{'), text.size())), nullptr, false);
  if (told.is_discarded() || !told.contains("jobs")) return std::nullopt;
  return told["jobs"][0]["read"]["bw_bytes"].get<double>();
}

struct FioResult {
  double seconds = 0;  // for the record's bytes, at the best rate
  std::string how;
};

std::optional<FioResult> best_of_fio(const std::string& path, std::uint64_t size, std::size_t rounds) {
  struct Job {
    const char* engine;
    int jobs;
    int depth;
    const char* block;
  };
  std::optional<FioResult> best;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const Job& job : {Job{"psync", 1, 1, "4M"}, Job{"psync", 4, 1, "2M"}, Job{"libaio", 1, 8, "1M"},
                           Job{"libaio", 1, 32, "1M"}, Job{"libaio", 2, 16, "512k"}}) {
      const auto rate = rate_of_fio(path, job.engine, job.jobs, job.depth, job.block);
      if (!rate || *rate <= 0) continue;
      const double seconds = static_cast<double>(size) / *rate;
      if (best && best->seconds <= seconds) continue;
      best = FioResult{seconds, fmt::format("{}, {} jobs of depth {}, {}", job.engine, job.jobs, job.depth, job.block)};
    }
  }
  return best;
}

Report measure(const Options& options, const BenchFolder& files) {
  const std::uint64_t size = options.smoke ? 8U << 20U : std::uint64_t{1200} << 20U;
  const std::string path = files.path("copy.fatctx");
  make_cpu_container(path, 4096, size);
  const Container container = or_stop(Container::open(path, {.verify = VerifyPolicy::kNone}));
  const auto records = or_stop(container.records());
  const RecordInfo largest =
      *std::max_element(records.begin(), records.end(),
                        [](const RecordInfo& a, const RecordInfo& b) { return a.size_bytes < b.size_bytes; });
  const Memory memory = memory_of(static_cast<std::size_t>(largest.size_bytes));
  const std::span<std::byte> out(memory.get(), static_cast<std::size_t>(largest.size_bytes));
  touch_every_page(out);

  std::string reason;
  std::uint64_t left = 0;
  const auto read = [&](ReadMethod method, bool keep) {
    const ReadReport report = or_stop(read_record(container, largest.id, out, {.method = method, .keep_cached = keep}));
    reason = fmt::format("{}: {}", read_method_name(report.method), report.reason);
    left = cached_bytes(path);
  };
  std::vector<Side> sides = {
      {"pread of the file into the memory, through the page cache",
       [&] { read_raw(open_raw(path), largest.file_offset, out); }, [&] { drop_from_cache(path); }},
      {"read_record", [&] { read(ReadMethod::kAuto, false); }, [&] { drop_from_cache(path); }},
      {"read_record, through the page cache", [&] { read(ReadMethod::kCached, false); },
       [&] { drop_from_cache(path); }},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
  drop_from_cache(path);
  const std::int64_t grown = peak_growth([&] { read(ReadMethod::kAuto, false); });
  const std::string cold_reason = reason;
  const std::uint64_t cold_left = left;

  Report report;
  report.question = "A record in memory of the consumer, nothing of the file in memory";
  report.workload = fmt::format("one record of {} bytes", largest.size_bytes);
  report.notes = {
      fmt::format("A B A B in one process, {} repetitions of one call; before each the file's pages are dropped",
                  options.repetitions),
      "every byte is compared with its leaf and with the record's hash, except in the first row",
      "read_record said: " + cold_reason,
  };
  for (std::size_t i = 0; i < sides.size(); ++i) {
    report.rows.push_back(timed_row(sides[i].name, i == 0 ? "nothing" : "everything", largest.size_bytes, took[i]));
    report.rows.back().cache = "cold";
  }
  // The memory was touched before, so only what the call itself takes counts.
  Row peak;
  peak.what = "memory beside the record's, at most";
  peak.policy = "everything";
  peak.cache = "cold";
  peak.size_bytes = largest.size_bytes;
  peak.unit = "bytes";
  peak.minimum = peak.median = static_cast<double>(grown);
  peak.target = at_most("bytes", static_cast<double>(grown), static_cast<double>(kMostMemoryBeside));
  report.rows.push_back(peak);
  Row kept = peak;
  kept.what = "of the file in the page cache afterwards";
  kept.minimum = kept.median = static_cast<double>(cold_left);
  kept.target = at_most("bytes", static_cast<double>(cold_left), 1 << 20);  // header and tables
  report.rows.push_back(kept);

  const auto fio = best_of_fio(path, largest.size_bytes, options.smoke ? 1 : 3);
  if (!fio) {
    report.notes.emplace_back("no row of fio: it is not installed (apt-get install fio), or it reads nothing here");
    return report;
  }
  Row limit;
  limit.what = "fio, best of its jobs: " + fio->how;
  limit.policy = "nothing";
  limit.cache = "cold";
  limit.size_bytes = largest.size_bytes;
  limit.minimum = limit.median = fio->seconds * 1e6;
  report.rows.push_back(limit);
  report.rows[1].target = at_least("rate of min / fio's", limit.minimum / report.rows[1].minimum, kLeastOfFio);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Copies for consumers that cannot map", 5, fatctx::bench::measure);
}
