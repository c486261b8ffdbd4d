// Measures a process that starts, finds the right record of a file and reads its first byte. Every side is this
// program, started anew; the floor starts, does nothing and ends. The difference is the cost of a format.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "fatctx/container.h"
#include "fatctx/select.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/raw_file.h"
#include "support/rivals.h"

extern char** environ;  // NOLINT: the system's

namespace fatctx::bench {
namespace {

constexpr std::string_view kWork = "--work";  // as first argument: KIND FILE NAME

// Does the work of one side in the process that was started for it.
void work(std::string_view kind, const std::string& file, const std::string& name) {
  if (kind == "nothing") return;
  if (kind == "select" || kind == "name") {
    const Container container = or_stop(Container::open(file, {.verify = VerifyPolicy::kNone}));
    if (kind == "name") {
      const RecordView view = or_stop(container.acquire(name));
      touch(view.data());
      return;
    }
    const Selection selection = or_stop(container.select(bench_device()));
    if (selection.chosen.empty()) stop("nothing was chosen");
    const RecordView view = or_stop(container.acquire(selection.chosen.front()));
    touch(view.data());
    return;
  }
  const RivalFile rival = kind == "safetensors" ? RivalFile::open_safetensors(file)
                          : kind == "zip"       ? RivalFile::open_stored_zip(file)
                                                : RivalFile::open_irpa(file);
  touch(rival.find(name).data());
}

// Runs this program anew, and waits for its end.
void start(const std::string& kind, const std::string& file, const std::string& name) {
  std::string words[] = {"fresh_process_bench", std::string(kWork), kind, file, name};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0) stop("no process was made");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) stop(kind + " failed in its process");
}

struct Kind {
  const char* kind;
  std::string name;
  std::string policy;
  std::string file;
};

void add_group(Report& report, std::size_t record_count, double most_us, const Options& options,
               const BenchFolder& files) {
  constexpr std::uint64_t kRecordSize = 4096;
  const std::string path = files.path(fmt::format("{}.fatctx", record_count));
  const ManyNames names = make_many_records(path, record_count, kRecordSize, 16, 64);
  const std::string& wanted = names.records[names.records.size() / 2];
  std::vector<RivalEntry> entries;
  {
    const Container container = or_stop(Container::open(path));
    for (const std::string& name : names.records) {
      const RecordInfo record = or_stop(container.find(name));
      entries.push_back({name, record.size_bytes, path, record.file_offset});
    }
  }
  std::vector<std::byte> buffer(std::size_t{4} << 20);
  const std::string safetensors = files.path(fmt::format("{}.safetensors", record_count));
  const std::string zip = files.path(fmt::format("{}.zip", record_count));
  const std::string irpa = files.path(fmt::format("{}.irpa", record_count));
  write_safetensors(safetensors, entries, buffer, false);
  write_stored_zip(zip, entries, buffer, false);
  write_irpa(irpa, entries, buffer, false);

  const Kind kinds[] = {{"nothing", "floor: start, do nothing, end", "nothing", path},
                        {"name", "fatctx, one record by name", "none", path},
                        {"select", "fatctx, select()", "none", path},
                        {"safetensors", "safetensors", "nothing", safetensors},
                        {"zip", "stored ZIP", "nothing", zip},
                        {"irpa", "IREE .irpa", "nothing", irpa}};
  std::vector<Side> sides;
  for (const Kind& kind : kinds) {
    sides.push_back({kind.name, [&] { start(kind.kind, kind.file, wanted); }});
  }
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    Row row = timed_row(fmt::format("{} records: {}", record_count, kinds[i].name), kinds[i].policy, 0, took[i]);
    if (i != 0) {
      row.what += ", longer than the floor";
      row.minimum -= took[0].minimum_us;
      row.median -= took[0].median_us;
      row.ratio_of_minima = {};
      row.median_ratio = {};
    }
    if (i == 1) row.target = at_most("min us", row.minimum, most_us);
    report.rows.push_back(std::move(row));
  }
}

Report measure(const Options& options, const BenchFolder& files) {
  constexpr double kMostOfFew = 60;
  constexpr double kMostOfMany = 100;
  Report report;
  report.question = "A fresh process: from its start to the first byte of the right record";
  report.workload = "sealed containers of records of 4 KiB, and the same records in the formats of the rivals";
  report.notes = {
      fmt::format("A B A B, {} repetitions; every call starts this program anew, with all of its libraries",
                  options.repetitions),
      "the time is from the start to the end of the process, less that of a process that does nothing",
      "every open of a fatctx file hashes and checks what it reads of header and table; the rivals check bounds",
  };
  add_group(report, 8, kMostOfFew, options, files);
  add_group(report, options.smoke ? 20 : 4095, kMostOfMany, options, files);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  using namespace fatctx::bench;
  if (argc == 5 && argv[1] == kWork) {
    work(argv[2], argv[3], argv[4]);
    ::_exit(0);  // the first byte is what counts, not the end of the process
  }
  return run_bench(argc, argv, "Time of a fresh process until the first byte of the right record", 101, measure);
}
