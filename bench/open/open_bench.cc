// Measures the way from a path to the first byte of the right record. The floor maps the file without any
// lookup. Every side includes closing and unmapping.
#include <memory>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "fatctx/container.h"
#include "fatctx/device.h"
#include "fatctx/model.h"
#include "fatctx/select.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/raw_file.h"

namespace fatctx::bench {
namespace {

void read_into_heap(const std::string& path, std::uint64_t offset, std::uint64_t size) {
  const mapping::UniqueFd file = open_raw(path);
  const auto heap = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(size));
  read_raw(file, offset, {heap.get(), static_cast<std::size_t>(size)});
  touch(heap.get());
}

RecordView choose_and_view(const Container& container, const Device& device) {
  const std::vector<Candidate> candidates = or_stop(container.candidates());
  const Selection selection = or_stop(select(candidates, device));
  if (selection.chosen.size() != 1) stop("nothing was chosen");
  return or_stop(container.acquire(selection.chosen.front()));
}

void open_and_view(const std::string& path, const Device& device, VerifyPolicy verify) {
  const Container container = or_stop(Container::open(path, {.verify = verify}));
  const RecordView view = choose_and_view(container, device);
  touch(view.data());
}

void open_session(const std::string& path, const ModelOptions& options) {
  const Model model = or_stop(Model::open(path, options));
  const Session session = or_stop(model.begin_session());
  const RecordView view = or_stop(session.binary());
  touch(view.data());
}

Report measure(const Options& options, const BenchFolder& files) {
  const std::uint64_t record_size = options.smoke ? 64U << 10U : 1U << 20U;
  constexpr double kTarget = 2.5;
  const std::string path = files.path("eight.fatctx");
  make_cpu_container(path, record_size);
  const Device device = bench_device();
  ModelOptions model_options;
  model_options.open.verify = VerifyPolicy::kNone;
  model_options.device = device;

  RecordInfo record;
  std::uint64_t file_size = 0;
  {
    const Container container = or_stop(Container::open(path));
    record = or_stop(container.record(choose_and_view(container, device).record_id()));
    record.name = {};  // it borrows from the container
    file_size = or_stop(container.report()).file_size;
  }

  const Side sides[] = {
      {"floor: open, fstat, mmap, touch, munmap, close", [&] { map_and_touch(path, record.file_offset); }},
      {"open, select, view, close", [&] { open_and_view(path, device, VerifyPolicy::kNone); }},
      {"open, select, view, close", [&] { open_and_view(path, device, VerifyPolicy::kRecordOnAcquire); }},
      {"the same through Model and Session", [&] { open_session(path, model_options); }},
      {"heap read of the record's range", [&] { read_into_heap(path, record.file_offset, record.size_bytes); }},
      {"open and close alone", [&] { (void)or_stop(Container::open(path)); }},
      {"asking the processor what it is", [] { benchmark::DoNotOptimize(detect_device()); }},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});

  Report report;
  report.question = "From a path to the first byte of the right record";
  report.workload =
      fmt::format("one sealed container, 8 CPU records of {} bytes, file of {} bytes", record.size_bytes, file_size);
  report.notes = {
      fmt::format("A B A B in one process, {} repetitions; ratios are to the first row, of the same run",
                  options.repetitions),
      "the file was written once, by the packer, a moment before: its pages are in the cache",
      "header and table of contents are read and checked in every open, whatever the policy",
      "the device is known beforehand; asking for it is a row of its own",
      "with record_on_acquire every open verifies the whole record again, because close forgets the mapping",
  };
  report.rows = {
      timed_row(sides[0].name, "nothing", file_size, took[0]),
      timed_row(sides[1].name, "none", file_size, took[1]),
      timed_row(sides[2].name, "record_on_acquire", file_size, took[2]),
      timed_row(sides[3].name, "none", file_size, took[3]),
      timed_row(sides[4].name, "nothing", record.size_bytes, took[4]),
      timed_row(sides[5].name, "none", file_size, took[5]),
      timed_row(sides[6].name, "nothing", 0, took[6]),
  };
  report.rows[1].target = at_most("med ratio", took[1].median_ratio, kTarget);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Time from a path to the first byte of the right record", 101,
                                  fatctx::bench::measure);
}
