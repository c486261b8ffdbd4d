// Measures the cost of 1, 8 and 64 inference sessions of one weight record in one process. Every session
// opens the path itself, as sessions of independent components do, and reads every page of the weights.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "fatctx/model.h"
#include "heap_count.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/process_memory.h"
#include "support/raw_file.h"

namespace fatctx::bench {
namespace {

// An owner that keeps the weights of one session readable, with their address.
struct Held {
  std::shared_ptr<const void> owner;
  ByteView weights;
};

// Holds the model too, although a session does not need it: a component that opens a file keeps what it got.
Held hold(Model model) {
  struct Component {
    Model model;
    Session session;
  };
  Session session = or_stop(model.begin_session());
  const auto owner = std::make_shared<const Component>(Component{std::move(model), std::move(session)});
  return {owner, owner->session.weights().front().view.bytes()};
}

Model open_model(const std::string& path, VerifyPolicy verify) {
  ModelOptions options;
  options.open.verify = verify;
  options.device = bench_device();
  return or_stop(Model::open(path, options));
}

Held open_session(const std::string& path, VerifyPolicy verify) { return hold(open_model(path, verify)); }

Held map_plain_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st = {};
  if (descriptor < 0 || ::fstat(descriptor, &st) != 0) stop("cannot open " + path);
  const auto size = static_cast<std::size_t>(st.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  (void)::close(descriptor);
  if (address == MAP_FAILED) stop("cannot map " + path);
  return {std::shared_ptr<const void>(address, [size](void* mapped) { (void)::munmap(mapped, size); }),
          {static_cast<const std::byte*>(address), size}};
}

Held read_plain_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st = {};
  if (descriptor < 0 || ::fstat(descriptor, &st) != 0) stop("cannot open " + path);
  const auto size = static_cast<std::size_t>(st.st_size);
  const std::shared_ptr<std::byte[]> heap(new std::byte[size]);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::read(descriptor, heap.get() + done, size - done);
    if (got <= 0) stop("cannot read " + path);
    done += static_cast<std::size_t>(got);
  }
  (void)::close(descriptor);
  return {heap, {heap.get(), size}};
}

struct Way {
  std::string name;
  std::string policy;
  std::string file;
  std::function<Held()> open;
};

// The samples: one figure of each kind per repetition.
struct Samples {
  std::vector<double> views_us, mappings, anonymous, file_backed, pss, page_tables, further_heap, first_heap;
};

void sample(const Way& way, int sessions, Samples& into) {
  using Clock = std::chrono::steady_clock;
  std::vector<Held> held;
  held.reserve(static_cast<std::size_t>(sessions));
  const ProcessMemory before = process_memory();
  const std::int64_t heap_before = live_heap_bytes();
  std::int64_t heap_of_first = 0;
  const auto start = Clock::now();
  for (int i = 0; i < sessions; ++i) {
    held.push_back(way.open());
    if (i == 0) heap_of_first = live_heap_bytes() - heap_before;
  }
  const std::chrono::duration<double, std::micro> took = Clock::now() - start;
  const std::int64_t heap = live_heap_bytes() - heap_before;
  for (const Held& one : held) touch_every_page(one.weights);
  const ProcessMemory grown = process_memory() - before;

  into.views_us.push_back(took.count());
  into.mappings.push_back(count_mappings(way.file));
  into.anonymous.push_back(static_cast<double>(grown.anonymous));
  into.file_backed.push_back(static_cast<double>(grown.file_backed));
  into.pss.push_back(static_cast<double>(grown.pss));
  into.page_tables.push_back(static_cast<double>(grown.page_tables));
  into.first_heap.push_back(static_cast<double>(heap_of_first));
  if (sessions > 1) into.further_heap.push_back(static_cast<double>(heap - heap_of_first) / (sessions - 1));
}

Row row_of(const std::string& what, const Way& way, std::uint64_t size, const std::string& unit, double divisor,
           const std::vector<double>& values) {
  Row row;
  row.what = fmt::format("{}: {}", what, way.name);
  row.policy = way.policy;
  row.size_bytes = size;
  row.unit = unit;
  row.minimum = minimum_of(values) / divisor;
  row.median = median_of(values) / divisor;
  return row;
}

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * 1024;

void add_rows(Report& report, int sessions, std::uint64_t size, const std::vector<Way>& ways,
              const std::vector<Samples>& samples) {
  constexpr double kMostHeap = 4096;
  const auto label = [&](const char* what) { return fmt::format("{:>2} x {}", sessions, what); };
  // The policy makes no difference to memory, so only the default one is shown.
  const auto each = [&](const char* what, const std::string& unit, double divisor, std::vector<double> Samples::*kind) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (ways[i].policy == "none" && kind != &Samples::views_us) continue;
      report.rows.push_back(row_of(label(what), ways[i], size, unit, divisor, samples[i].*kind));
    }
  };
  const std::size_t at = report.rows.size();
  each("mappings of the file", "count", 1, &Samples::mappings);
  if (sessions > 1) report.rows[at].target = at_most("median", report.rows[at].median, 1);
  const std::size_t heap_at = report.rows.size();
  if (sessions == 1) {
    each("heap of session and open container", "bytes", 1, &Samples::first_heap);
  } else {
    each("heap of each further session", "bytes", 1, &Samples::further_heap);
    report.rows[heap_at].target = at_most("median", report.rows[heap_at].median, kMostHeap);
  }
  each("anonymous memory, all", "MiB", kMiB, &Samples::anonymous);
  each("file-backed memory, all", "MiB", kMiB, &Samples::file_backed);
  each("proportional (Pss), all", "MiB", kMiB, &Samples::pss);
  each("page tables, all", "KiB", kKiB, &Samples::page_tables);
  each("time until all have their view", "us", 1, &Samples::views_us);
}

// Measures a first view with and without verification, and a view of a model that somebody already holds.
void add_verification_rows(Report& report, const Options& options, const std::string& container, std::uint64_t size) {
  const Side first[] = {
      {"first session: open, choose, view", [&] { (void)open_session(container, VerifyPolicy::kNone); }},
      {"first session: open, choose, view", [&] { (void)open_session(container, VerifyPolicy::kRecordOnAcquire); }},
  };
  const std::vector<Timing> took = alternate(first, {.repetitions = options.repetitions});
  report.rows.push_back(timed_row(first[0].name, "none", size, took[0]));
  report.rows.push_back(timed_row(first[1].name, "record_on_acquire", size, took[1]));

  const Model model = open_model(container, VerifyPolicy::kRecordOnAcquire);
  const Held held = hold(model);
  const Side further[] = {
      {"further session: the path again", [&] { (void)open_session(container, VerifyPolicy::kRecordOnAcquire); }},
      {"further session: of the same Model", [&] { (void)hold(model); }},
  };
  const std::vector<Timing> again = alternate(further, {.repetitions = options.repetitions});
  for (std::size_t i = 0; i < std::size(further); ++i) {
    Row row = timed_row(further[i].name, "record_on_acquire", size, again[i]);
    row.ratio_of_minima.reset();  // not a ratio to the row of the first session
    row.median_ratio.reset();
    report.rows.push_back(std::move(row));
  }
  const std::int64_t before = live_heap_bytes();
  const Held one_more = hold(model);
  const std::vector<double> heap = {static_cast<double>(live_heap_bytes() - before)};
  report.rows.push_back(
      row_of("heap of a further session", {"of the same Model", "record_on_acquire", {}, {}}, size, "bytes", 1, heap));
}

Report measure(const Options& options, const BenchFolder& files) {
  const std::uint64_t weights_size = options.smoke ? 1'000'000 : 100'000'000;
  const SharedWeights shared = make_shared_weights(files, 64U << 10U, weights_size);
  const std::string& container = shared.container;
  const std::string& plain = shared.plain;

  const std::vector<Way> ways = {
      {"fatctx", "record_on_acquire", container,
       [&] { return open_session(container, VerifyPolicy::kRecordOnAcquire); }},
      {"fatctx", "none", container, [&] { return open_session(container, VerifyPolicy::kNone); }},
      {"plain file, a map each", "nothing", plain, [&] { return map_plain_file(plain); }},
      {"plain file, a heap copy each", "nothing", plain, [&] { return read_plain_file(plain); }},
  };
  Report report;
  report.question = "Memory of many sessions of one weight record";
  report.workload = fmt::format(
      "8 CPU records of 64 KiB that share one weight blob of {} bytes; every session opens "
      "the path itself and reads each page",
      weights_size);
  report.notes = {
      fmt::format("the ways take turns in one process, {} repetitions; memory is growth since before the first session",
                  options.repetitions),
      "both files were written in pieces of the same size, a moment before: their pages are in the cache",
      "heap: what operator new hands out, rounded up as the allocator does; the session object itself included",
      "no time includes touching the pages; verification is part of the first session, and shown apart at the end",
  };

  for (const Way& way : ways) {  // once beforehand, so that no side pays for first use
    Samples unused;
    sample(way, 1, unused);
  }
  for (const int sessions : {1, 8, 64}) {
    std::vector<Way> fitting = ways;
    if (static_cast<std::uint64_t>(sessions) * weights_size > available_memory() / 2) {
      fitting.pop_back();
      report.notes.push_back(fmt::format("{} heap copies were left out: too little free memory", sessions));
    }
    std::vector<Samples> samples(fitting.size());
    for (int repetition = 0; repetition < options.repetitions; ++repetition) {
      for (std::size_t i = 0; i < fitting.size(); ++i) sample(fitting[i], sessions, samples[i]);
    }
    add_rows(report, sessions, weights_size, fitting, samples);
  }

  add_verification_rows(report, options, container, weights_size);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Memory of 1, 8 and 64 sessions of one weight record", 15,
                                  fatctx::bench::measure);
}
