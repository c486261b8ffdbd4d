// Measures reading a record that is not in memory: how quickly its bytes arrive, and how many bytes are
// fetched for them. The floor is the device's rate for a plain read of the same number of bytes.
#include <fcntl.h>

#include <cstdlib>
#include <memory>

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

constexpr std::size_t kUnit = std::size_t{4} << 20;  // of every read

struct FreeAligned {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};

std::unique_ptr<std::byte[], FreeAligned> aligned_buffer(std::size_t size) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(4096, size));
  if (memory == nullptr) stop("no memory");
  touch_every_page({memory, size});
  return std::unique_ptr<std::byte[], FreeAligned>(memory);
}

std::uint32_t choose(const Container& container) {
  const Selection selection = or_stop(container.select(bench_device()));
  if (selection.chosen.size() != 1) stop("nothing was chosen");
  return selection.chosen.front();
}

void view_and_touch(const std::string& path, VerifyPolicy verify, bool prefetch) {
  const Container container = or_stop(Container::open(path, {.verify = verify}));
  const std::uint32_t id = choose(container);
  if (prefetch) (void)or_stop(container.prefetch(id));
  const RecordView view = or_stop(container.acquire(id));
  touch_every_page(view.bytes());
}

// A side that counts the bytes that it made the disk fetch.
struct Counted {
  std::string name;
  std::string policy;
  std::string file;
  std::function<void()> once;
  std::vector<double> fetched = {};
};

Report measure(const Options& options, const BenchFolder& files) {
  constexpr double kLeastRate = 0.9;
  constexpr double kMostBytes = 1.05;
  const std::uint64_t record_size = options.smoke ? 1U << 20U : 96U << 20U;
  const std::string path = files.path("eight.fatctx");
  make_cpu_container(path, record_size);
  RecordInfo record;
  std::vector<RivalEntry> entries;
  {
    const Container container = or_stop(Container::open(path));
    record = or_stop(container.record(choose(container)));
    record.name = {};  // it borrows from the container
    entries.push_back({"chosen", record.size_bytes, path, record.file_offset});
  }
  const auto buffer = aligned_buffer(kUnit);
  const std::span<std::byte> unit(buffer.get(), kUnit);
  const std::string plain = files.path("plain.bin");  // one of the rivals holds only the bytes
  make_plain_file(path, record.id, plain);
  const std::string irpa = files.path("chosen.irpa");
  write_irpa(irpa, entries, unit, true);
  const std::string safetensors = files.path("chosen.safetensors");
  write_safetensors(safetensors, entries, unit, true);

  const ByteRange whole{0, record.size_bytes};
  std::vector<Counted> ways = {
      {"device: pread of a plain file into one buffer", "nothing", plain,
       [&] { read_in_pieces(open_raw(plain), whole, unit, {}); }},
      {"pread of a plain file past the cache (O_DIRECT)", "nothing", plain,
       [&] { read_in_pieces(open_raw(plain, O_DIRECT), whole, unit, {}); }},
      {"heap read of a plain file", "nothing", plain,
       [&] {
         const auto heap = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(record.size_bytes));
         read_raw(open_raw(plain), 0, {heap.get(), static_cast<std::size_t>(record.size_bytes)});
       }},
      {"open, select, prefetch, view, touch all", "none", path,
       [&] { view_and_touch(path, VerifyPolicy::kNone, true); }},
      {"open, select, view, touch all", "record_on_acquire", path,
       [&] { view_and_touch(path, VerifyPolicy::kRecordOnAcquire, false); }},
      {"open, select, view, touch all", "none", path, [&] { view_and_touch(path, VerifyPolicy::kNone, false); }},
      {"safetensors, map, touch all", "nothing", safetensors,
       [&] { touch_every_page(RivalFile::open_safetensors(safetensors).find("chosen")); }},
      {"IREE .irpa, map, touch all", "nothing", irpa,
       [&] { touch_every_page(RivalFile::open_irpa(irpa).find("chosen")); }},
  };
  std::vector<Side> sides;
  for (Counted& way : ways) {
    sides.push_back({way.name,
                     [&way] {
                       const std::uint64_t before = fetched_bytes();
                       way.once();
                       way.fetched.push_back(static_cast<double>(fetched_bytes() - before));
                     },
                     [&way] { drop_from_cache(way.file); }});
  }
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});

  Report report;
  report.question = "The bytes of the chosen record, nothing of the file in memory";
  report.workload =
      fmt::format("8 CPU records of {} bytes in one file; the rivals hold the chosen one alone", record.size_bytes);
  report.notes = {
      fmt::format("A B A B in one process, {} repetitions of one call; ratios are to the first row",
                  options.repetitions),
      fmt::format("every read asks for {} MiB; before each call the pages of the file are written and dropped",
                  kUnit >> 20U),
      "the host of a virtual machine may still have the blocks: cold means cold for this system",
      "the first row is the rate of the device: reading ahead keeps it busier than reads past the cache, one after "
      "another",
      "fetched: what the kernel says this process has had read from storage, read-ahead and metadata included",
  };
  for (std::size_t i = 0; i < ways.size(); ++i) {
    report.rows.push_back(timed_row(sides[i].name, ways[i].policy, record.size_bytes, took[i]));
    report.rows.back().cache = "cold";
  }
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    report.rows[i].target = at_least("1 / med ratio", 1 / took[i].median_ratio, kLeastRate);
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    // The first call came before the first drop, so everything may have been in the cache.
    const std::vector<double> fetched(ways[i].fetched.begin() + 1, ways[i].fetched.end());
    Row row;
    row.what = "fetched: " + ways[i].name;
    row.policy = ways[i].policy;
    row.cache = "cold";
    row.size_bytes = record.size_bytes;
    row.unit = "bytes";
    row.minimum = minimum_of(fetched);
    row.median = median_of(fetched);
    row.median_ratio = row.median / static_cast<double>(record.size_bytes);
    if (i == 3 || i == 4) row.target = at_most("med ratio", *row.median_ratio, kMostBytes);
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Rate and bytes of a cold read of the chosen record", 15,
                                  fatctx::bench::measure);
}
