// Measures how quickly a container is checked, beside reading and hashing the same bytes once.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <benchmark/benchmark.h>

#include "container/format/hash.h"
#include "fatctx/container.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/raw_file.h"

namespace fatctx::bench {
namespace {

constexpr double kLeastRate = 0.8;
constexpr double kLeastGainOfTwo = 1.5;  // two threads, compared with one
constexpr int kPairs = 7;

void hash_range(const std::string& path, ByteRange range, std::size_t unit) {
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(unit);
  container::Hasher hasher;
  read_in_pieces(open_raw(path), range, {buffer.get(), unit}, [&](ByteView piece) { hasher.update(piece); });
  benchmark::DoNotOptimize(hasher.digest());
}

void hash_mapped(const std::string& path) {
  const RawMap map(path);
  benchmark::DoNotOptimize(container::hash128(map.bytes()));
}

void check(const Result<VerifyReport>& report) {
  if (!report.ok() || !report.value().findings.empty()) stop("the bench's own file is damaged");
}

void add_rows(Report& report, const std::string& label, const std::string& path, std::uint64_t record_bytes,
              const Options& options) {
  const Container container = or_stop(Container::open(path, {.verify = VerifyPolicy::kNone}));
  const std::uint64_t size = or_stop(container.report()).file_size;
  const auto records = or_stop(container.records());
  const RecordInfo largest =
      *std::max_element(records.begin(), records.end(),
                        [](const RecordInfo& a, const RecordInfo& b) { return a.size_bytes < b.size_bytes; });
  std::vector<Side> sides = {
      {"XXH3 over pread, 1 MiB a read",
       [&] {
         hash_range(path, {0, size}, std::size_t{1} << 20);
       }},
      {"XXH3 over pread, 256 KiB a read",
       [&] {
         hash_range(path, {0, size}, std::size_t{1} << 18);
       }},
      {"XXH3 over a mapping", [&] { hash_mapped(path); }},
      {"verify the whole file, 1 thread", [&] { check(verify_file(path, {.threads = 1})); }},
  };
  std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
  for (std::size_t i = 0; i < sides.size(); ++i) {
    report.rows.push_back(
        timed_row(fmt::format("{}: {}", label, sides[i].name), i == 3 ? "everything" : "nothing", size, took[i]));
  }
  report.rows.back().target = at_least("1 / med ratio", 1 / took[3].median_ratio, kLeastRate);
  if (record_bytes == 0) return;

  const ByteRange range{largest.file_offset, largest.size_bytes};
  sides = {
      {"XXH3 over pread of one record, 1 MiB a read", [&] { hash_range(path, range, std::size_t{1} << 20); }},
      {"verify one record", [&] { check(container.verify_record(largest.id)); }},
      {"open, view of one record, close",
       [&] {
         // A second registry would be another mapping; opening a buffer always verifies afresh.
         const RawMap map(path);
         const Container fresh = or_stop(Container::open(Source::of_memory(map.bytes())));
         benchmark::DoNotOptimize(or_stop(fresh.acquire(largest.id)).size_bytes());
       }},
  };
  const std::string policies[] = {"nothing", "everything", "record_on_acquire"};
  took = alternate(sides, {.repetitions = options.repetitions});
  for (std::size_t i = 0; i < sides.size(); ++i) {
    report.rows.push_back(
        timed_row(fmt::format("{}: {}", label, sides[i].name), policies[i], largest.size_bytes, took[i]));
  }
}

// Checks whole files on one thread and on two. Uses the minimum of alternating pairs, because only a quiet
// pair is meaningful.
void add_thread_rows(Report& report, const std::string& label, const std::string& path) {
  const std::vector<Side> sides = {
      {"verify the whole file on 1 thread", [&] { check(verify_file(path, {.threads = 1})); }},
      {"verify the whole file on 2 threads", [&] { check(verify_file(path, {.threads = 2})); }},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = kPairs});
  const std::uint64_t size =
      or_stop(or_stop(Container::open(path, {.verify = VerifyPolicy::kNone})).report()).file_size;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    report.rows.push_back(timed_row(fmt::format("{}: {}", label, sides[i].name), "everything", size, took[i]));
  }
  report.rows.back().target = at_least("1 / min ratio", 1 / took[1].ratio_of_minima, kLeastGainOfTwo);
}

Report measure(const Options& options, const BenchFolder& files) {
  const std::uint64_t record_size = options.smoke ? 1U << 20U : 32U << 20U;
  const std::size_t many = options.smoke ? 20 : 4096;
  const std::string large = files.path("large.fatctx");
  const std::string small = files.path("small.fatctx");
  make_cpu_container(large, record_size);
  make_many_records(small, many, 4096, 16, 64);

  Report report;
  report.question = "Checking a container";
  report.workload =
      fmt::format("8 CPU records of {} bytes; and {} records of 4 KiB, each on 64 KiB", record_size, many);
  report.notes = {
      fmt::format("A B A B in one process, {} repetitions; ratios are to the first row of the same file, which hashes "
                  "every byte once",
                  options.repetitions),
      "verify hashes every record twice, in leaves and as a whole, and looks at both copies of everything doubled",
  };
  add_rows(report, "8 large", large, record_size, options);
  add_rows(report, fmt::format("{} small", many), small, 0, options);
  add_thread_rows(report, "8 large", large);
  const std::string single = files.path("single.fatctx");
  make_cpu_container(single, 4096, record_size * 8);
  add_thread_rows(report, "1 large", single);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Rate of verification", 21, fatctx::bench::measure);
}
