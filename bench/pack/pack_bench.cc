// Measures how quickly a container is packed, beside reading, writing and syncing the same bytes. Also
// measures the memory that this takes, which must not depend on the size of the input.
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "fatctx/packer.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/process_memory.h"
#include "support/raw_file.h"
#include "support/rivals.h"

namespace fatctx::bench {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::size_t kUnit = std::size_t{4} << 20;

PackOptions pack_options(Sharing sharing) {
  PackOptions options;
  options.overwrite = true;
  options.model_name = "bench";
  options.sharing = sharing;
  return options;
}

PackRecord opaque_record(const std::string& name, const std::string& source) {
  PackRecord record;
  record.name = name;
  record.key.group = "bench";
  record.source.path = source;
  return record;
}

void pack(std::span<const RivalEntry> entries, Sharing sharing, const std::string& path) {
  Packer packer(pack_options(sharing));
  for (const RivalEntry& entry : entries) {
    PackRecord record = opaque_record(entry.name, entry.source);
    record.type = RecordType::kWeightBlob;
    or_stop(packer.add(std::move(record)));
  }
  (void)or_stop(packer.publish(path));
}

// Reads, writes and syncs: the floor of every packer.
void copy_and_sync(std::span<const RivalEntry> entries, std::span<std::byte> buffer, const std::string& path) {
  RawOutput out(path);
  for (const RivalEntry& entry : entries) {
    const mapping::UniqueFd source = open_raw(entry.source);
    read_in_pieces(source, {0, entry.size}, buffer, [&](ByteView piece) { out.write(piece); });
  }
  out.close(true);
}

void add_rates(Report& report, const Options& options, const BenchFolder& files) {
  constexpr double kLeastRate = 0.5;
  constexpr double kLeastRateOfBytes = 0.2;  // every byte is examined as the possible start of an equal range
  constexpr std::size_t kInputs = 8;
  const std::uint64_t size = options.smoke ? kMiB : 24 * kMiB;
  std::vector<std::byte> buffer(kUnit);
  const auto add = [&](const std::string& label, bool equal_sizes) {
    std::vector<RivalEntry> entries;
    for (std::size_t i = 0; i < kInputs; ++i) {
      const std::string source = files.path(fmt::format("input-{}-{}", equal_sizes, i));
      const std::uint64_t own = size + (equal_sizes ? 0 : i * 4096);
      RawOutput out(source);
      out.write(weights_bytes(own, i + 1));
      out.close(true);
      entries.push_back({fmt::format("blob-{}", i), own, source});
    }
    const std::string made = files.path("made");
    const Side sides[] = {
        {"floor: read, write, fsync", [&] { copy_and_sync(entries, buffer, made); }, [&] { ::unlink(made.c_str()); }},
        {"pack, sharing by pages", [&] { pack(entries, Sharing::kPages, made); }, [&] { ::unlink(made.c_str()); }},
        {"pack, sharing off", [&] { pack(entries, Sharing::kOff, made); }, [&] { ::unlink(made.c_str()); }},
        {"pack, sharing by bytes", [&] { pack(entries, Sharing::kBytes, made); }, [&] { ::unlink(made.c_str()); }},
        {"safetensors, with fsync", [&] { write_safetensors(made, entries, buffer, true); },
         [&] { ::unlink(made.c_str()); }},
        {"stored ZIP, with fsync", [&] { write_stored_zip(made, entries, buffer, true); },
         [&] { ::unlink(made.c_str()); }},
        {"IREE .irpa, with fsync", [&] { write_irpa(made, entries, buffer, true); }, [&] { ::unlink(made.c_str()); }},
    };
    const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
    for (std::size_t i = 0; i < std::size(sides); ++i) {
      const bool packed = i >= 1 && i <= 3;
      report.rows.push_back(timed_row(fmt::format("{}: {}", label, sides[i].name), packed ? "hashed" : "nothing",
                                      kInputs * size, took[i]));
      if (!packed) continue;
      report.rows.back().target =
          at_least("1 / med ratio", 1 / took[i].median_ratio, i == 3 ? kLeastRateOfBytes : kLeastRate);
    }
  };
  add("sizes differ", false);
  add("sizes equal", true);
}

// Measures the packer with default options, which share by pages, from before the first record is added.
void add_memory_row(Report& report, const std::string& what, std::uint64_t size, const std::string& path,
                    const std::function<void(Packer&)>& fill) {
  constexpr double kMostMiB = 200;
  const std::int64_t grown = peak_growth([&] {
    Packer packer(pack_options(PackOptions().sharing));
    fill(packer);
    (void)or_stop(packer.publish(path));
  });
  Row row;
  row.what = "memory of packing: " + what;
  row.policy = "hashed";
  row.size_bytes = size;
  row.unit = "MiB";
  row.minimum = row.median = static_cast<double>(grown) / static_cast<double>(kMiB);
  row.target = at_most("peak", row.median, kMostMiB);
  report.rows.push_back(std::move(row));
  ::unlink(path.c_str());
}

std::string sparse_file(const BenchFolder& files, std::uint64_t size) {
  const std::string path = files.path(fmt::format("sparse-{}", size));
  RawOutput out(path);
  const std::byte last{1};
  out.write_over(size - 1, {&last, 1});
  out.close(false);
  return path;
}

void add_memory(Report& report, const Options& options, const BenchFolder& files) {
  const std::string made = files.path("memory");
  const std::uint64_t large = options.smoke ? 8 * kMiB : 1024 * kMiB;
  const std::string source = sparse_file(files, large);
  add_memory_row(report, "one large file", large, made, [&](Packer& packer) {
    PackRecord record = opaque_record("blob", source);
    record.type = RecordType::kWeightBlob;
    or_stop(packer.add(std::move(record)));
  });
  add_memory_row(report, "the same, compressed", large, made, [&](Packer& packer) {
    PackRecord record = opaque_record("model", source);
    record.type = RecordType::kSourceModel;
    record.codec = Codec::kLz4;
    or_stop(packer.add(std::move(record)));
  });
  const std::size_t records = options.smoke ? 40 : 4000;
  const std::string small = sparse_file(files, 4096);
  add_memory_row(report, fmt::format("{} records", records), records * 4096, made, [&](Packer& packer) {
    for (std::size_t i = 0; i < records; ++i) or_stop(packer.add(opaque_record(fmt::format("record-{}", i), small)));
  });
  const std::size_t tensors = options.smoke ? 1000 : std::size_t{1} << 20;  // the maximum
  add_memory_row(report, fmt::format("a blob of {} tensors", tensors), tensors * 64, made, [&](Packer& packer) {
    PackRecord record = opaque_record("blob", sparse_file(files, tensors * 64));
    record.type = RecordType::kWeightBlob;
    for (std::size_t i = 0; i < tensors; ++i) {
      PackTensor tensor;
      tensor.name = fmt::format("model.layers.{}.block.weight", i);
      tensor.shape = {64};
      tensor.offset_in_blob = i * 64;
      tensor.size_bytes = 64;
      record.tensors.push_back(std::move(tensor));
    }
    or_stop(packer.add(std::move(record)));
  });
}

Report measure(const Options& options, const BenchFolder& files) {
  Report report;
  report.question = "Packing: rate and memory";
  report.workload = "8 weight blobs from 8 files that are in the page cache; sparse files for the rows of memory";
  report.notes = {
      fmt::format("A B A B in one process, {} repetitions of one call; ratios are to the first row of the group",
                  options.repetitions),
      "every side writes a new file, syncs it and leaves the old one removed beforehand; pack syncs the folder too",
      "no input holds anything that another one holds: what sharing costs where it finds nothing",
      "inputs of equal size are read once more by pack, to find those that are equal",
      "memory: the peak of anonymous, shared and program pages over what was there before, the given records included",
  };
  add_rates(report, options, files);
  add_memory(report, options, files);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Rate and memory of packing", 9, fatctx::bench::measure);
}
