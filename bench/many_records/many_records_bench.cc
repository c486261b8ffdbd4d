// Measures a container of many records: opening it, looking up a name, selecting, describing, and getting every tensor
// of a weight blob by name. All rows include closing and unmapping, except the two named "in an open container".
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "fatctx/container.h"
#include "fatctx/info.h"
#include "fatctx/select.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/raw_file.h"
#include "support/rivals.h"

namespace fatctx::bench {
namespace {

constexpr std::uint64_t kCopyUnit = std::uint64_t{4} << 20;

struct Rival {
  const char* name;
  void (*write)(const std::string&, std::span<const RivalEntry>, std::span<std::byte>, bool);
  RivalFile (*open)(const std::string&);
};
constexpr Rival kRivals[] = {{"safetensors", write_safetensors, RivalFile::open_safetensors},
                             {"IREE .irpa", write_irpa, RivalFile::open_irpa},
                             {"stored ZIP", write_stored_zip, RivalFile::open_stored_zip}};

// Returns the rivals whose format holds this many entries. A ZIP without extensions counts them in 16 bits.
std::span<const Rival> rivals_for(std::size_t entries) {
  constexpr std::size_t kMostOfZip = 65'535;
  return std::span(kRivals).first(entries < kMostOfZip ? 3 : 2);
}

// Writes the same entries, from the same bytes, in the formats of the rivals.
std::vector<std::string> write_rivals(const BenchFolder& files, const std::string& stem,
                                      std::span<const RivalEntry> entries) {
  std::vector<std::byte> buffer(kCopyUnit);
  std::vector<std::string> paths;
  for (const Rival& rival : rivals_for(entries.size())) {
    paths.push_back(files.path(fmt::format("{}-{}", stem, rival.name)));
    rival.write(paths.back(), entries, buffer, false);
  }
  return paths;
}

const OpenOptions kUnverified = {.verify = VerifyPolicy::kNone};

void find_all(const RivalFile& file, std::span<const std::string> names) {
  for (const std::string& name : names) benchmark::DoNotOptimize(file.find(name).data());
}

// Adds the rows of one group: the first side is the floor of the ratios.
void add_group(Report& report, const std::string& label, std::span<const Side> sides,
               std::span<const std::string> policies, std::uint64_t size, const Options& options) {
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
  for (std::size_t i = 0; i < sides.size(); ++i) {
    report.rows.push_back(timed_row(fmt::format("{}: {}", label, sides[i].name), policies[i], size, took[i]));
  }
}

void measure_count(Report& report, std::size_t record_count, const Options& options, const BenchFolder& files) {
  constexpr std::uint64_t kRecordSize = 4096;
  constexpr double kMost = 6;
  const std::string path = files.path(fmt::format("{}.fatctx", record_count));
  const ManyNames names = make_many_records(path, record_count, kRecordSize, 16, 64);
  const Container open = or_stop(Container::open(path, kUnverified));
  std::vector<RivalEntry> entries;
  for (const std::string& name : names.records) {
    const RecordInfo record = or_stop(open.find(name));
    entries.push_back({name, record.size_bytes, path, record.file_offset});
  }
  const std::vector<std::string> rivals = write_rivals(files, fmt::to_string(record_count), entries);
  const std::string& wanted = names.records[names.records.size() / 2];
  const std::uint64_t offset = or_stop(open.find(wanted)).file_offset;
  const std::uint64_t file_size = or_stop(open.report()).file_size;
  const std::string copy = files.path("copy.fatctx");  // the first stays open, so that its opens are further ones
  make_many_records(copy, record_count, kRecordSize, 16, 64);

  std::vector<Side> sides = {
      {"floor: open, fstat, mmap, touch, munmap, close", [&] { map_and_touch(copy, offset); }},
      {"open, close", [&] { benchmark::DoNotOptimize(or_stop(Container::open(copy, kUnverified))); }},
      {"open, view of one by name, touch, close",
       [&] {
         const Container container = or_stop(Container::open(copy, kUnverified));
         const RecordView view = or_stop(container.acquire(wanted));
         touch(view.data());
       }},
      {"in an open container, every name looked up once",
       [&] {
         for (const std::string& name : names.records) benchmark::DoNotOptimize(or_stop(open.find(name)).id);
       }},
      {"in an open container, select()",
       [&] {
         const Selection selection = or_stop(open.select(bench_device()));
         if (selection.chosen.empty()) stop("nothing was chosen");
       }},
  };
  std::vector<std::string> policies = {"nothing", "none", "none", "already", "already"};
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    sides.push_back({fmt::format("{}, map, index, one by name, touch, unmap", kRivals[i].name), [&, i] {
                       const RivalFile file = kRivals[i].open(rivals[i]);
                       touch(file.find(wanted).data());
                     }});
    policies.emplace_back("nothing");
  }
  const std::size_t first = report.rows.size();
  const std::string label = fmt::format("{} records", record_count);
  add_group(report, label, sides, policies, file_size, options);
  report.rows[first + 2].target = at_most("med ratio", *report.rows[first + 2].median_ratio, kMost);
}

// One tensor of a blob: `most` is the target of the ratio to the floor. With `all`, also every tensor once.
struct TensorCount {
  std::size_t count;
  std::uint64_t size;
  double most;
  bool all;
};

void measure_tensors(Report& report, const TensorCount& of, const Options& options, const BenchFolder& files) {
  const std::uint64_t kTensorSize = of.size;
  constexpr std::size_t kRecords = 8;
  constexpr double kMostOfChecked = 1.5;
  const std::size_t tensor_count = of.count;
  const std::string path = files.path("tensors.fatctx");
  const ManyNames names = make_many_records(path, kRecords, kTensorSize, tensor_count, kTensorSize);
  std::uint32_t weights = 0;
  std::uint64_t offset = 0;
  std::uint64_t file_size = 0;
  std::vector<RivalEntry> entries;
  {
    const Container container = or_stop(Container::open(path, kUnverified));
    const RecordInfo blob = or_stop(container.find("weights"));
    weights = blob.id;
    offset = blob.file_offset;
    file_size = or_stop(container.report()).file_size;
    const TensorTable table = or_stop(container.tensors(weights));
    for (std::size_t i = 0; i < table.size(); ++i) {
      const TensorInfo tensor = table.at(i);
      entries.push_back({std::string(tensor.name), tensor.size_bytes, path, offset + tensor.offset_in_blob});
    }
  }
  const std::vector<std::string> rivals = write_rivals(files, "tensors", entries);
  const auto by_name = [&](VerifyPolicy verify) {
    const Container container = or_stop(Container::open(path, {.verify = verify}));
    const TensorTable table = or_stop(container.tensors(weights));
    for (const std::string& name : names.tensors) {
      const WeightView view = or_stop(table.view(name));
      benchmark::DoNotOptimize(view.bytes().data());
    }
  };
  const std::string& wanted = names.tensors[names.tensors.size() / 2];
  const auto one = [&](VerifyPolicy verify) {
    const Container container = or_stop(Container::open(path, {.verify = verify}));
    const WeightView view = or_stop(container.tensor(weights, wanted));
    touch(view.bytes().data());
  };
  std::vector<Side> sides = {
      {"floor: open, fstat, mmap, touch, munmap, close", [&] { map_and_touch(path, offset); }},
      {"open, one by name, touch, close", [&] { one(VerifyPolicy::kNone); }},
      {"open, one by name, touch, close", [&] { one(VerifyPolicy::kRecordOnAcquire); }},
  };
  std::vector<std::string> policies = {"nothing", "none", "record_on_acquire"};
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    sides.push_back({fmt::format("{}, map, index, one by name, touch, unmap", kRivals[i].name),
                     [&, i] { touch(kRivals[i].open(rivals[i]).find(wanted).data()); }});
    policies.emplace_back("nothing");
  }
  if (of.all) {
    sides.push_back({"open, a view of each by name, close", [&] { by_name(VerifyPolicy::kNone); }});
    sides.push_back({"open, a view of each by name, close", [&] { by_name(VerifyPolicy::kRecordOnAcquire); }});
    policies.insert(policies.end(), {"none", "record_on_acquire"});
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      sides.push_back({fmt::format("{}, map, index, each by name, unmap", kRivals[i].name),
                       [&, i] { find_all(kRivals[i].open(rivals[i]), names.tensors); }});
      policies.emplace_back("nothing");
    }
  }
  const std::size_t first = report.rows.size();
  add_group(report, fmt::format("{} tensors", tensor_count), sides, policies, file_size, options);
  Row& unchecked = report.rows[first + 1];
  Row& checked = report.rows[first + 2];
  unchecked.target = at_most("med ratio", *unchecked.median_ratio, of.most);
  checked.target = at_most("of the row above", checked.median / unchecked.median, kMostOfChecked);
}

// Measures `info --json` after the open: twice the records must cost twice the time, not four times.
void measure_info(Report& report, std::size_t few, std::size_t many, const Options& options, const BenchFolder& files) {
  constexpr std::uint64_t kRecordSize = 4096;
  const auto made = [&](std::size_t count) {
    const std::string path = files.path(fmt::format("info-{}.fatctx", count));
    make_many_records(path, count, kRecordSize, 16, 64);
    return or_stop(Container::open(path, kUnverified));
  };
  const Container small = made(few);
  const Container large = made(many);
  const auto describe = [](const Container& container) {
    benchmark::DoNotOptimize(or_stop(info_json(container, or_stop(container.describe()))).data());
  };
  const std::vector<Side> sides = {{fmt::format("{} records", few), [&] { describe(small); }},
                                   {fmt::format("{} records", many), [&] { describe(large); }}};
  const std::vector<std::string> policies = {"nothing", "nothing"};
  const std::size_t first = report.rows.size();
  add_group(report, "describe() and info_json() in an open container", sides, policies,
            or_stop(large.report()).file_size, options);
  const double linear = static_cast<double>(many) / static_cast<double>(few);
  report.rows[first + 1].target = at_most("med ratio", *report.rows[first + 1].median_ratio, 1.5 * linear);
}

Report measure(const Options& options, const BenchFolder& files) {
  Report report;
  report.question = "Many records, many tensors: open, find by name, select";
  report.workload =
      "sealed containers; records of 4 KiB: CPU context binaries that all refer to one weight blob, a binary a target "
      "and unit; tensors of 4 KiB in one blob, of 64 bytes from 100,000 on";
  report.notes = {
      fmt::format("A B A B in one process, {} repetitions; ratios are to the floor of the same file",
                  options.repetitions),
      "every open of a fatctx file hashes and checks header and table of contents; the rivals check bounds",
      "the rivals are readers made for this bench, from the published formats; they fill a hash table by name",
      "the number of records includes description, weight blob and tensor table",
  };
  const std::vector<std::size_t> counts =
      options.smoke ? std::vector<std::size_t>{8, 20} : std::vector<std::size_t>{8, 514, 4096, 65536};
  for (const std::size_t count : counts) measure_count(report, count, options, files);
  measure_info(report, counts[options.smoke ? 0 : 1], counts[options.smoke ? 1 : 2], options, files);
  const std::vector<TensorCount> tensors =
      options.smoke
          ? std::vector<TensorCount>{{20, 4096, 5, true}}
          : std::vector<TensorCount>{
                {514, 4096, 5, true}, {4096, 4096, 8, false}, {100'000, 64, 12, false}, {1'000'000, 64, 12, false}};
  for (const TensorCount& count : tensors) measure_tensors(report, count, options, files);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Time to open, find and select among many records", 51,
                                  fatctx::bench::measure);
}
