// Measures views of a record that the file does not store in one piece.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "fatctx/model.h"
#include "sharing/questions.h"
#include "support/or_stop.h"
#include "support/process_memory.h"
#include "support/raw_file.h"

namespace fatctx::bench {
namespace {

constexpr double kViewMiB = 1024 * 1024;

OpenOptions with_budget(VerifyPolicy verify, std::uint64_t max_copied_bytes) {
  OpenOptions options;
  options.verify = verify;
  options.max_copied_bytes = max_copied_bytes;
  return options;
}

// A container and a view of one of its records, as a component holds them.
struct Held {
  Container container;
  RecordView view;
};

Held hold(const std::string& path, const std::string& name, const OpenOptions& options) {
  Container container = or_stop(Container::open(path, options));
  RecordView view = or_stop(container.acquire(name));
  return {std::move(container), std::move(view)};
}

// Limits in milliseconds are per 100 MB.
double ms_per_100_mb(double us, std::uint64_t size) { return us / 1000 * 1e8 / static_cast<double>(size); }

// Not inlined: the compiler makes slower code of it in some places, and the memory is to be compared.
[[gnu::noinline]] std::uint64_t sum_of(ByteView bytes) {
  std::uint64_t sums[8] = {};
  for (std::size_t at = 0; at + sizeof(sums) <= bytes.size(); at += sizeof(sums)) {
    std::uint64_t words[std::size(sums)];
    std::memcpy(words, bytes.data() + at, sizeof(words));
    for (std::size_t i = 0; i < std::size(sums); ++i) sums[i] += words[i];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t one : sums) sum += one;
  return sum;
}

std::int64_t faults_so_far() {
  rusage usage = {};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) stop("the system does not count faults");
  return usage.ru_minflt + usage.ru_majflt;
}

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14; older headers do not define it
#endif

// Populates the whole view with one call, whatever it is made of.
bool populate_in_one_call(ByteView view) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t size = (view.size() + page - 1) / page * page;
  return ::madvise(const_cast<std::byte*>(view.data()), size, MADV_POPULATE_READ) == 0;
}

// Returns the name of a record that the file stores in one piece, so that its view is a pointer into the
// mapping.
std::string direct_record(const Container& container, const Corpus& corpus) {
  for (const CorpusFile& file : corpus.files) {
    const RecordInfo record = or_stop(container.find(file.name));
    if (!record.recipe && record.slice_count == 1) return file.name;
  }
  stop("no record of " + corpus.name + " lies in one piece");
}

Row plain_row(const std::string& what, std::uint64_t size, const std::string& unit, double value) {
  Row row;
  row.what = what;
  row.policy = "none";
  row.size_bytes = size;
  row.unit = unit;
  row.minimum = row.median = value;
  return row;
}

// Reads a plain file with the same bytes into private memory, as an application does that has no container.
std::vector<std::byte> read_whole(const CorpusFile& file) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.size));
  read_raw(open_raw(file.path), 0, bytes);
  return bytes;
}

const CorpusFile& file_of(const Corpus& corpus, const std::string& arch) {
  const auto found =
      std::find_if(corpus.files.begin(), corpus.files.end(), [&](const CorpusFile& file) { return file.arch == arch; });
  if (found == corpus.files.end()) stop(corpus.name + " has no chip " + arch);
  return *found;
}

// Measures the time to get the view. It is built anew each time: the range of a record goes with its last
// view.
void add_stitching(Report& report, const Options& options, const std::string& path, const Corpus& corpus,
                   const CorpusFile& file) {
  constexpr double kMostPerSlice = 2.5;
  const OpenOptions unverified = with_budget(VerifyPolicy::kNone, 0);
  const Container container = or_stop(Container::open(path, unverified));
  const std::string direct = direct_record(container, corpus);
  const RecordInfo record = or_stop(container.find(file.name));
  if (or_stop(container.access_path_of(record.id)) != AccessPath::kStitched) stop(file.name + " is not stitched");
  std::optional<RecordView> view;
  const auto drop = [&] { view.reset(); };
  const Side builds[] = {
      {"view, direct", [&] { view.emplace(or_stop(container.acquire(direct))); }, drop},
      {fmt::format("view, stitched of {} slices", record.slice_count),
       [&] { view.emplace(or_stop(container.acquire(file.name))); }, drop},
      {"heap read of a plain file", [&] { benchmark::DoNotOptimize(read_whole(file).data()); }},
  };
  const std::vector<Timing> built = alternate(builds, {.repetitions = options.repetitions});
  drop();
  for (std::size_t i = 0; i < std::size(builds); ++i) {
    report.rows.push_back(timed_row(builds[i].name, i == 2 ? "nothing" : "none", file.size, built[i]));
  }
  Row& stitched = report.rows[report.rows.size() - 2];
  stitched.target = at_most("us a slice", stitched.median / record.slice_count, kMostPerSlice);
}

// Measures how quickly its pages enter the page table. No other mapping of the file may exist: a direct view
// is a part of that one mapping, and would find its pages there.
void add_touching(Report& report, const Options& options, const std::string& path, const std::string& direct,
                  const CorpusFile& file) {
  const OpenOptions unverified = with_budget(VerifyPolicy::kNone, 0);
  std::optional<Held> held;
  const auto anew = [&](const std::string& name) {
    return [&held, &path, &unverified, name] {
      held.reset();
      held.emplace(hold(path, name, unverified));
    };
  };
  bool populated = true;
  const auto populate = [&] {
    if (held) populated = populate_in_one_call(held->view.bytes()) && populated;
  };
  const auto touch_all = [&] {
    if (held) touch_every_page(held->view.bytes());
  };
  const Side populates[] = {{"one call to populate, direct", populate, anew(direct)},
                            {"one call to populate, stitched", populate, anew(file.name)}};
  const Side touches[] = {{"first touch of every page, direct", touch_all, anew(direct)},
                          {"first touch of every page, stitched", touch_all, anew(file.name)}};
  for (const std::span<const Side> sides : {std::span<const Side>(populates), std::span<const Side>(touches)}) {
    const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
    for (std::size_t i = 0; i < sides.size(); ++i) {
      report.rows.push_back(timed_row(sides[i].name, "none", file.size, took[i]));
    }
  }
  anew(file.name)();
  populate();
  const std::int64_t before = faults_so_far();
  touch_all();
  const auto faults = static_cast<double>(faults_so_far() - before);
  Row& left =
      report.rows.emplace_back(plain_row("page faults of touching every page, populated", file.size, "count", faults));
  if (populated) {
    left.target = at_most("left by one call", faults, 0);
  } else {
    report.notes.push_back("the kernel cannot populate a range (Linux 5.14 can); its rows say nothing");
  }
}

void add_reading(Report& report, const Options& options, const std::string& path, const std::string& direct,
                 const CorpusFile& file) {
  constexpr double kLeastReadRate = 0.85;
  const OpenOptions unverified = with_budget(VerifyPolicy::kNone, 0);
  const Held whole = hold(path, direct, unverified);
  const Held pieces = hold(path, file.name, unverified);
  touch_every_page(whole.view.bytes());
  touch_every_page(pieces.view.bytes());
  const ByteView of_whole = whole.view.bytes().first(std::min(whole.view.bytes().size(), pieces.view.bytes().size()));
  const ByteView of_pieces = pieces.view.bytes().first(of_whole.size());
  const std::vector<std::byte> heap = read_whole(file);
  const Side reads[] = {
      {"read every byte, direct", [&] { benchmark::DoNotOptimize(sum_of(of_whole)); }},
      {"read every byte, stitched", [&] { benchmark::DoNotOptimize(sum_of(of_pieces)); }},
      {"read every byte, heap copy", [&] { benchmark::DoNotOptimize(sum_of(ByteView(heap).first(of_whole.size()))); }},
  };
  const std::vector<Timing> read = alternate(reads, {.repetitions = options.repetitions});
  for (std::size_t i = 0; i < std::size(reads); ++i) {
    Row row = timed_row(reads[i].name, "none", of_whole.size(), read[i]);
    if (i == 1) row.target = at_least("1 / med ratio", 1 / read[i].median_ratio, kLeastReadRate);
    report.rows.push_back(std::move(row));
  }
}

void add_composed(Report& report, const Options& options, const std::string& path, const Corpus& corpus,
                  const std::string& arch, bool judged) {
  constexpr double kMostMs = 35;
  constexpr double kMostPrivate = 0.45;
  const CorpusFile& file = file_of(corpus, arch);
  const OpenOptions unverified = with_budget(VerifyPolicy::kNone, file.size + (1U << 20U));
  const OpenOptions verified = with_budget(VerifyPolicy::kRecordOnAcquire, file.size + (1U << 20U));
  std::optional<Container> container;
  std::optional<RecordView> view;
  const auto anew = [&](const OpenOptions& how) {
    return [&view, &container, &path, how] {
      view.reset();
      container.reset();
      container.emplace(or_stop(Container::open(path, how)));
    };
  };
  const auto acquire = [&] {
    if (!container) container.emplace(or_stop(Container::open(path, unverified)));
    view.reset();
    view.emplace(or_stop(container->acquire(file.name)));
  };
  const Side sides[] = {
      {fmt::format("heap read of a plain file, {}", arch), [&] { benchmark::DoNotOptimize(read_whole(file).data()); }},
      {fmt::format("view, composed, {}", arch), acquire, anew(unverified)},
      {fmt::format("view, composed, {}, first one", arch), acquire, anew(verified)},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
  for (std::size_t i = 0; i < std::size(sides); ++i) {
    const char* const policies[] = {"nothing", "none", "record_on_acquire"};
    Row row = timed_row(sides[i].name, policies[i], file.size, took[i]);
    if (judged && i == 1) row.target = at_most("ms per 100 MB", ms_per_100_mb(row.median, file.size), kMostMs);
    report.rows.push_back(std::move(row));
  }

  view.reset();
  container.emplace(or_stop(Container::open(path, verified)));
  const ProcessMemory before = process_memory();
  view.emplace(or_stop(container->acquire(file.name)));
  touch_every_page(view->bytes());
  const ProcessMemory grown = process_memory() - before;
  const auto own = static_cast<double>(grown.anonymous + grown.shared);
  Row& row = report.rows.emplace_back(
      plain_row(fmt::format("memory of the composed view, {}", arch), file.size, "MiB", own / kViewMiB));
  row.policy = "record_on_acquire";
  if (judged) row.target = at_most("of the record", own / static_cast<double>(file.size), kMostPrivate);
}

// Measures sessions that open the path themselves and touch every page of the binary.
void add_sessions(Report& report, const std::string& path, const Corpus& corpus, const std::string& arch) {
  constexpr int kSessions = 64;
  constexpr double kMostKiB = 4;  // limit for any session, as in the bench `sessions`
  const CorpusFile& file = file_of(corpus, arch);
  ModelOptions options;
  options.open.max_copied_bytes = file.size + (1U << 20U);
  options.device = Device{.backend = "htp", .arch = arch};
  struct Component {
    Model model;
    Session session;
    RecordView binary;
  };
  std::vector<Component> components;
  components.reserve(kSessions);
  const auto open = [&] {
    Model model = or_stop(Model::open(path, options));
    Session session = or_stop(model.begin_session());
    RecordView binary = or_stop(session.binary());
    touch_every_page(binary.bytes());
    components.push_back({std::move(model), std::move(session), std::move(binary)});
  };
  (void)process_memory();  // its first call allocates memory that it keeps
  const ProcessMemory nobody = process_memory();
  open();
  const ProcessMemory one = process_memory();
  open();
  const ProcessMemory two = process_memory();
  while (components.size() < kSessions) open();
  const ProcessMemory all = process_memory();
  const std::byte* const address = components.front().binary.data();
  for (const Component& component : components) {
    if (component.binary.data() != address) stop("two sessions have views of their own");
  }
  const auto add = [&](const std::string& what, std::int64_t bytes, int sessions) {
    Row row = plain_row(what, file.size, "KiB", static_cast<double>(bytes) / 1024 / sessions);
    row.policy = "record_on_acquire";
    return &report.rows.emplace_back(std::move(row));
  };
  // For the first session, its own memory without the pages of the file. For the others, everything: Pss is
  // exact, the rest is rounded.
  const ProcessMemory first = one - nobody;
  add(fmt::format("composed, {}: memory of session 1", arch), first.anonymous + first.shared, 1);
  add(fmt::format("composed, {}: Pss of session 2", arch), two.pss - one.pss, 1);
  Row* const each =
      add(fmt::format("composed, {}: Pss of each of sessions 2 to 64", arch), all.pss - one.pss, kSessions - 1);
  each->target = at_most("a session", each->median, kMostKiB);
  add(fmt::format("composed, {}: page tables of sessions 2 to 64", arch), all.page_tables - one.page_tables, 1);
}

}  // namespace

void add_views(Report& report, const Options& options, const BenchFolder& folder, const Corpus& corpus) {
  const std::string by_pages = folder.path("pages.fatctx");
  const std::string by_bytes = folder.path("bytes.fatctx");
  (void)pack(corpus.files, Sharing::kPages, by_pages);
  (void)pack(corpus.files, Sharing::kBytes, by_bytes);
  const CorpusFile& stitched = file_of(corpus, "v79");
  const std::string direct = direct_record(or_stop(Container::open(by_pages)), corpus);
  add_stitching(report, options, by_pages, corpus, stitched);
  add_touching(report, options, by_pages, direct, stitched);
  add_reading(report, options, by_pages, direct, stitched);
  for (const char* arch : {"v79", "v81"}) add_composed(report, options, by_bytes, corpus, arch, true);
  add_composed(report, options, by_bytes, corpus, "v69", false);  // re-tiled: nothing of it can be mapped
  add_sessions(report, by_bytes, corpus, "v79");
}

}  // namespace fatctx::bench
