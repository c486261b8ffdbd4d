// Measures the later life of a container: appending to it, opening it when a part of it is lost, writing it
// anew.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include <fmt/format.h>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/packer.h"
#include "fatctx/rewrite.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/raw_file.h"

namespace fatctx::bench {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::size_t kUnit = std::size_t{4} << 20;
constexpr std::uint64_t kRecordSize = 300'000;

PackRecord binary(const std::string& name, std::uint64_t seed) {
  PackRecord record;
  record.type = RecordType::kContextBinary;
  record.name = name;
  record.key.group = "bench";
  record.key.backend = "htp";
  record.key.variant = name;
  record.source.bytes = weights_bytes(kRecordSize, seed);
  return record;
}

// Writes different blobs, of `size` bytes in total.
void make_large(const BenchFolder& files, std::uint64_t size, const std::string& path) {
  constexpr std::uint64_t kBlobs = 8;
  PackOptions options;
  options.model_name = "bench";
  Packer packer(std::move(options));
  std::vector<std::string> sources;
  for (std::uint64_t i = 0; i < kBlobs; ++i) {
    sources.push_back(files.path(fmt::format("blob-{}", i)));
    RawOutput out(sources.back());
    for (std::uint64_t at = 0; at < size / kBlobs; at += kUnit) {
      out.write(weights_bytes(std::min<std::uint64_t>(kUnit, size / kBlobs - at), i * 1000 + at / kUnit));
    }
    out.close(false);
    PackRecord record;
    record.type = RecordType::kWeightBlob;
    record.name = fmt::format("blob-{}", i);
    record.key.group = "bench";
    record.source.path = sources.back();
    or_stop(packer.add(std::move(record)));
  }
  (void)or_stop(packer.publish(path));
  for (const std::string& source : sources) ::unlink(source.c_str());
}

// Measures the least cost of two barriers: the new bytes, a sync, a page, a sync.
void write_and_sync_twice(const std::string& path, ByteView bytes) {
  const mapping::UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.valid()) stop("cannot open " + path);
  const off_t end = ::lseek(file.get(), 0, SEEK_END);
  const std::array<std::byte, 4096> page{std::byte{1}};
  if (::pwrite(file.get(), bytes.data(), bytes.size(), end) != static_cast<ssize_t>(bytes.size()) ||
      ::fdatasync(file.get()) != 0 || ::pwrite(file.get(), page.data(), page.size(), 0) != 4096 ||
      ::fdatasync(file.get()) != 0) {
    stop("cannot write " + path);
  }
}

void add_append(Report& report, std::uint64_t size, const Options& options, const BenchFolder& files) {
  constexpr double kMost = 1.5;
  const std::string path = files.path("large.fatctx");
  make_large(files, size, path);
  const std::string raw = files.path("raw");
  {
    RawOutput out(raw);
    const std::vector<std::byte> piece = weights_bytes(kUnit, 3);
    for (std::uint64_t at = 0; at < size; at += piece.size()) out.write(piece);
    out.close(true);
  }
  const std::vector<std::byte> bytes = weights_bytes(kRecordSize, 1);
  std::uint64_t count = 0;
  PackRecord next = binary("binary-0", 1000);
  const Side sides[] = {
      {"floor: write 300 kB at the end, fdatasync, a page, fdatasync", [&] { write_and_sync_twice(raw, bytes); },
       [] {}},
      {"append of a record of 300 kB",
       [&] {
         Appender appender = or_stop(Appender::open(path));
         or_stop(appender.add(std::move(next)));
         (void)or_stop(appender.commit());
       },
       [&] {
         ++count;
         next = binary(fmt::format("binary-{}", count), 1000 + count);
       }},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
  report.rows.push_back(timed_row(sides[0].name, "nothing", size, took[0]));
  report.rows.push_back(timed_row(sides[1].name, "hashed", size, took[1]));
  report.rows.back().target = at_most("med ratio", took[1].median_ratio, kMost);
  ::unlink(raw.c_str());
  ::unlink(path.c_str());
}

void copy_file(const std::string& from, const std::string& to) {
  std::vector<std::byte> buffer(kUnit);
  const mapping::UniqueFd source = open_raw(from);
  RawOutput out(to);
  read_in_pieces(source, {0, size_of(source, from)}, buffer, [&](ByteView piece) { out.write(piece); });
  out.close(true);
}

void overwrite(const std::string& path, std::uint64_t offset, ByteView bytes) {
  const mapping::UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.valid() || ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
                           static_cast<ssize_t>(bytes.size())) {
    stop("cannot write " + path);
  }
}

void add_degraded(Report& report, const Options& options, const BenchFolder& files) {
  constexpr double kMost = 3;
  const std::string whole = files.path("whole.fatctx");
  make_cpu_container(whole, 64 * 1024);
  ::chmod(whole.c_str(), 0644);
  const std::string degraded = files.path("degraded.fatctx");
  copy_file(whole, degraded);
  const std::array<std::byte, 4096> junk{std::byte{0xa5}};
  // Page 0 of the small form has a prologue and a slot; the table of contents follows the header.
  for (const std::uint64_t page : {0x0U, 0x4000U}) overwrite(degraded, page, junk);
  if (or_stop(or_stop(Container::open(degraded)).report()).degraded.size() != 3) stop("three things were to be lost");
  const Side sides[] = {
      {"open and close, whole", [&] { (void)or_stop(Container::open(whole)); }},
      {"open and close; prologue, slot and table of contents lost once",
       [&] { (void)or_stop(Container::open(degraded)); }},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions * 5});
  report.rows.push_back(timed_row(sides[0].name, "meta", 0, took[0]));
  report.rows.push_back(timed_row(sides[1].name, "meta", 0, took[1]));
  report.rows.back().target = at_most("med ratio", took[1].median_ratio, kMost);
}

void add_compact(Report& report, const Options& options, const BenchFolder& files) {
  constexpr double kLeastRate = 0.5;
  const std::uint64_t size = options.smoke ? 4 * kMiB : 200 * kMiB;
  const std::string path = files.path("appended.fatctx");
  make_large(files, size, path);
  Appender appender = or_stop(Appender::open(path));
  or_stop(appender.add(binary("new", 77)));
  (void)or_stop(appender.commit());
  const std::string made = files.path("made");
  const auto clear = [&] { ::unlink(made.c_str()); };
  const Side sides[] = {
      {"floor: read, write, fsync", [&] { copy_file(path, made); }, clear},
      {"compact", [&] { (void)or_stop(rewrite_container(path, made, {.overwrite = true})); }, clear},
      {"compact, sharing off",
       [&] { (void)or_stop(rewrite_container(path, made, {.overwrite = true, .sharing = Sharing::kOff})); }, clear},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = std::max(3, options.repetitions / 2)});
  for (std::size_t i = 0; i < std::size(sides); ++i) {
    report.rows.push_back(timed_row(sides[i].name, i == 0 ? "nothing" : "hashed", size, took[i]));
    if (i != 0) report.rows.back().target = at_least("1 / med ratio", 1 / took[i].median_ratio, kLeastRate);
  }
}

Report measure(const Options& options, const BenchFolder& files) {
  Report report;
  report.question = "Appending, opening what is degraded, compacting";
  report.workload =
      "8 weight blobs that differ, 10 to 10000 MiB for the append and 200 MiB for compacting; 8 CPU records of 64 KiB "
      "for the opens";
  report.notes = {
      fmt::format(
          "A B A B in one process, {} repetitions of one call, five times as many of opens, half of compacting; "
          "ratios are to the first row of the group",
          options.repetitions),
      "append: library calls from open to the second sync; the files of both sides grow",
  };
  const std::vector<std::uint64_t> sizes =
      options.smoke ? std::vector<std::uint64_t>{4 * kMiB}
                    : std::vector<std::uint64_t>{10 * kMiB, 1000 * kMiB, 4000 * kMiB, 10000 * kMiB};
  for (const std::uint64_t size : sizes) add_append(report, size, options, files);
  add_degraded(report, options, files);
  add_compact(report, options, files);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "The later life of a container", 21, fatctx::bench::measure);
}
