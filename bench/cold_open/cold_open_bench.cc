// Measures opening a container whose pages are not in memory. The disk decides, not the loader: the cost
// depends on how many requests an open makes one after another, and on the distance between them.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "fatctx/container.h"
#include "fatctx/select.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/page_cache.h"
#include "support/raw_file.h"
#include "support/rivals.h"

namespace fatctx::bench {
namespace {

void map_and_read(const std::string& path) {
  constexpr std::size_t kRead = std::size_t{16} << 10;
  std::byte buffer[kRead];
  const RawMap map(path);
  read_raw(map.file(), 0, buffer);
  touch(buffer);
}

void open_and_select(const std::string& path) {
  const Container container = or_stop(Container::open(path, {.verify = VerifyPolicy::kNone}));
  const Selection selection = or_stop(container.select(bench_device()));
  if (selection.chosen.size() != 1) stop("nothing was chosen");
  benchmark::DoNotOptimize(or_stop(container.acquire(selection.chosen.front())).size_bytes());
}

void open_and_touch(const std::string& path) {
  const Container container = or_stop(Container::open(path, {.verify = VerifyPolicy::kNone}));
  const Selection selection = or_stop(container.select(bench_device()));
  if (selection.chosen.size() != 1) stop("nothing was chosen");
  const RecordView view = or_stop(container.acquire(selection.chosen.front()));
  touch(view.data());
}

Report measure(const Options& options, const BenchFolder& files) {
  constexpr double kTarget = 3;
  constexpr double kTargetOfTheByte = 3.5;
  const std::uint64_t record_size = options.smoke ? 64U << 10U : 8U << 20U;
  const std::string path = files.path("eight.fatctx");
  make_cpu_container(path, record_size);
  std::uint64_t file_size = 0;
  std::string wanted;
  std::vector<RivalEntry> entries;
  {
    const Container container = or_stop(Container::open(path));
    file_size = or_stop(container.report()).file_size;
    const auto records = or_stop(container.records());
    for (const RecordInfo& record : records) {
      if (record.type != RecordType::kContextBinary) continue;
      wanted = record.name;
      entries.push_back({wanted, record.size_bytes, path, record.file_offset});
    }
  }
  std::vector<std::byte> buffer(std::size_t{4} << 20);
  const std::string safetensors = files.path("eight.safetensors");
  const std::string zip = files.path("eight.zip");
  const std::string irpa = files.path("eight.irpa");
  write_safetensors(safetensors, entries, buffer, true);
  write_stored_zip(zip, entries, buffer, true);
  write_irpa(irpa, entries, buffer, true);
  drop_from_cache(path);
  const std::uint64_t left = cached_bytes(path);

  const auto cold = [](const std::string& name, const std::string& file, auto work) {
    return Side{name, [file, work] { work(file); }, [file] { drop_from_cache(file); }};
  };
  const Side sides[] = {
      cold("floor: open, mmap, pread 16 KiB, munmap, close", path, map_and_read),
      cold("open, close", path,
           [](const std::string& file) { benchmark::DoNotOptimize(or_stop(Container::open(file))); }),
      cold("open, select, view (untouched), close", path, open_and_select),
      cold("open, select, view, first byte, close", path, open_and_touch),
      cold("safetensors, map, index, find (untouched), unmap", safetensors,
           [&](const std::string& file) { (void)RivalFile::open_safetensors(file).find(wanted); }),
      cold("stored ZIP, map, index, find (untouched), unmap", zip,
           [&](const std::string& file) { (void)RivalFile::open_stored_zip(file).find(wanted); }),
      cold("IREE .irpa, map, index, find (untouched), unmap", irpa,
           [&](const std::string& file) { (void)RivalFile::open_irpa(file).find(wanted); }),
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});

  Report report;
  report.question = "From a path to an open container, nothing of it in memory";
  report.workload = fmt::format("8 CPU records of {} bytes, file of {} bytes", record_size, file_size);
  report.notes = {
      fmt::format("A B A B in one process, {} repetitions of one call; ratios are to the first row",
                  options.repetitions),
      "before each call the pages of the file are written and dropped; its directory entry and inode stay in memory",
      fmt::format("bytes of the file left in the cache by a drop: {}", left),
      "the host of a virtual machine may still have the blocks: cold means cold for this system",
  };
  const std::string policies[] = {"nothing", "none", "none", "none", "nothing", "nothing", "nothing"};
  for (std::size_t i = 0; i < std::size(sides); ++i) {
    report.rows.push_back(timed_row(sides[i].name, policies[i], file_size, took[i]));
    report.rows.back().cache = "cold";
  }
  report.rows[1].target = at_most("med ratio", took[1].median_ratio, kTarget);
  report.rows[3].target = at_most("med ratio", took[3].median_ratio, kTargetOfTheByte);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Time to open a container that is not in the page cache", 101,
                                  fatctx::bench::measure);
}
