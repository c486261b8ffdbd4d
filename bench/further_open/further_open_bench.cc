// Measures opening a container that this process has already mapped. The floor is the least work that can
// find that out: one stat, one lock, one lookup in a hash table.
#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "fatctx/container.h"
#include "support/bench_main.h"
#include "support/or_stop.h"

namespace fatctx::bench {
namespace {

struct FileKey {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileKey&, const FileKey&) = default;
};
struct FileKeyHash {
  std::size_t operator()(const FileKey& key) const noexcept {
    return std::hash<std::uint64_t>{}(key.inode ^ key.device);
  }
};

class Floor {
 public:
  void add(const std::string& path) {
    struct stat st = {};
    if (::stat(path.c_str(), &st) != 0) stop("cannot stat " + path);
    table_[{st.st_dev, st.st_ino}] = static_cast<int>(table_.size());
  }
  int find(const std::string& path) {
    struct stat st = {};
    if (::stat(path.c_str(), &st) != 0) stop("cannot stat " + path);
    const std::lock_guard lock(mutex_);
    const auto found = table_.find({st.st_dev, st.st_ino});
    return found == table_.end() ? -1 : found->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<FileKey, int, FileKeyHash> table_;
};

constexpr double kTarget = 3;

// A session of one weight blob that the process has verified before.
void add_session(Report& report, std::uint64_t weights_size, const Options& options, const BenchFolder& files) {
  const std::string path = files.path("weights.fatctx");
  make_cpu_container(path, 64U << 10U, weights_size);
  const Container live = or_stop(Container::open(path));
  const std::uint32_t id = or_stop(live.find("weights")).id;
  (void)or_stop(live.acquire(id));
  Floor floor;
  floor.add(path);
  const Side sides[] = {
      {"floor: stat, lock, hash lookup", [&] { benchmark::DoNotOptimize(floor.find(path)); }},
      {"further session: open, view, close",
       [&] {
         const Container again = or_stop(Container::open(path));
         benchmark::DoNotOptimize(or_stop(again.acquire(id)).size_bytes());
       }},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
  report.rows.push_back(timed_row(sides[0].name, "nothing", weights_size, took[0]));
  report.rows.push_back(timed_row(sides[1].name, "record_on_acquire", weights_size, took[1]));
  report.rows.back().target = at_most("med ratio", took[1].median_ratio, kTarget);
}

Report measure(const Options& options, const BenchFolder& files) {
  const std::string path = files.path("live.fatctx");
  make_cpu_container(path, options.smoke ? 64U << 10U : 1U << 20U);
  const Container live = or_stop(Container::open(path, {.verify = VerifyPolicy::kNone}));
  const std::uint64_t file_size = or_stop(live.report()).file_size;
  const std::uint32_t id = or_stop(live.candidates()).front().record_id;
  (void)or_stop(or_stop(Container::open(path)).acquire(id));  // verified once; the mapping keeps the result
  Floor floor;
  floor.add(path);

  const Side sides[] = {
      {"floor: stat, lock, hash lookup", [&] { benchmark::DoNotOptimize(floor.find(path)); }},
      {"open of a live container, close", [&] { benchmark::DoNotOptimize(or_stop(Container::open(path))); }},
      {"open of a live container, view, close",
       [&] {
         const Container again = or_stop(Container::open(path));
         benchmark::DoNotOptimize(or_stop(again.acquire(id)).size_bytes());
       }},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});

  Report report;
  report.question = "A further open of a container that is live in this process";
  report.workload = fmt::format("one container of {} bytes, open once and held", file_size);
  report.notes = {
      fmt::format("A B A B in one process, {} repetitions; ratios are to the first row, of the same run",
                  options.repetitions),
      "the record of the last row was verified by an earlier view of the same mapping; its view asks the file once "
      "more whether it has changed",
  };
  report.rows = {
      timed_row(sides[0].name, "nothing", file_size, took[0]),
      timed_row(sides[1].name, "record_on_acquire", file_size, took[1]),
      timed_row(sides[2].name, "record_on_acquire", file_size, took[2]),
  };
  report.rows[1].target = at_most("med ratio", took[1].median_ratio, kTarget);
  const std::vector<std::uint64_t> sizes =
      options.smoke ? std::vector<std::uint64_t>{1U << 20U} : std::vector<std::uint64_t>{94'000'000, 1'200'000'000};
  for (const std::uint64_t size : sizes) add_session(report, size, options, files);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Time of a further open of a live container", 101,
                                  fatctx::bench::measure);
}
