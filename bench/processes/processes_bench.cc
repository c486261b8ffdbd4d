// Measures N processes that all read every byte of one file: the memory that they take together, and the time
// until the last of them is done. Each process is a child of the bench and opens the file itself.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "fatctx/model.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/process_memory.h"
#include "support/raw_file.h"

namespace fatctx::bench {
namespace {

// An owner that keeps the bytes readable.
using Held = std::shared_ptr<const void>;

struct Way {
  std::string name;
  std::string policy;
  std::function<Held()> open;  // also touches every page
};

struct Grown {
  double us = 0;
  ProcessMemory memory;
};

// A pipe for single bytes in one direction, which mean "go on" or "I am ready".
class Signal {
 public:
  Signal() {
    if (::pipe(ends_.data()) != 0) stop("cannot make a pipe");
  }
  ~Signal() {
    for (const int end : ends_) (void)::close(end);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  template <typename T>
  void send(const T& value) const {
    if (::write(ends_[1], &value, sizeof(value)) != sizeof(value)) stop("a process of the bench has gone");
  }
  template <typename T>
  [[nodiscard]] T receive() const {
    T value;
    if (::read(ends_[0], &value, sizeof(value)) != sizeof(value)) stop("a process of the bench has gone");
    return value;
  }

 private:
  std::array<int, 2> ends_ = {};
};

struct Child {
  Signal to;
  Signal from;
  pid_t process = 0;
};

[[noreturn]] void work(const Child& self, const Way& way) {
  using Clock = std::chrono::steady_clock;
  (void)self.to.receive<char>();
  const ProcessMemory before = process_memory();
  const auto start = Clock::now();
  const Held held = way.open();
  const std::chrono::duration<double, std::micro> took = Clock::now() - start;
  self.from.send('r');
  (void)self.to.receive<char>();  // all have their bytes now
  (void)::malloc_trim(0);         // a separate process would not keep memory that it frees in blocks of its parent
  self.from.send(Grown{took.count(), process_memory() - before});
  (void)self.to.receive<char>();  // all have measured
  ::_exit(0);
}

// Opens in one process after another; then all measure at once.
std::vector<Grown> run(const Way& way, std::size_t count) {
  std::vector<std::unique_ptr<Child>> children;
  for (std::size_t i = 0; i < count; ++i) {
    children.push_back(std::make_unique<Child>());
    children.back()->process = ::fork();
    if (children.back()->process < 0) stop("cannot make a process");
    if (children.back()->process == 0) work(*children.back(), way);
  }
  for (const auto& child : children) {
    child->to.send('o');
    (void)child->from.receive<char>();
  }
  for (const auto& child : children) child->to.send('l');
  std::vector<Grown> grown;
  for (const auto& child : children) grown.push_back(child->from.receive<Grown>());
  for (const auto& child : children) {
    child->to.send('q');
    int status = 0;
    if (::waitpid(child->process, &status, 0) != child->process || status != 0) stop("a process of the bench failed");
  }
  return grown;
}

Held hold_session(const std::string& path, VerifyPolicy verify) {
  ModelOptions options;
  options.open.verify = verify;
  options.device = bench_device();
  const auto session = std::make_shared<const Session>(or_stop(or_stop(Model::open(path, options)).begin_session()));
  touch_every_page(session->weights().front().view.bytes());
  return session;
}

Held hold_map(const std::string& path) {
  const auto map = std::make_shared<const RawMap>(path);
  touch_every_page(map->bytes());
  return map;
}

Held hold_copy(const std::string& path) {
  const mapping::UniqueFd file = open_raw(path);
  const auto size = static_cast<std::size_t>(size_of(file, path));
  const std::shared_ptr<std::byte[]> heap(new std::byte[size]);
  read_raw(file, 0, {heap.get(), size});
  return heap;
}

Row row_of(std::string what, const std::string& policy, std::uint64_t size, std::string unit,
           const std::vector<double>& values) {
  Row row;
  row.what = std::move(what);
  row.policy = policy;
  row.size_bytes = size;
  row.unit = std::move(unit);
  row.minimum = minimum_of(values);
  row.median = median_of(values);
  return row;
}

Report measure(const Options& options, const BenchFolder& files) {
  constexpr double kMiB = 1024 * 1024;
  constexpr double kMostPss = 1.01;
  const std::uint64_t weights_size = options.smoke ? 4'000'000 : 256'000'000;
  const SharedWeights shared = make_shared_weights(files, 64U << 10U, weights_size);
  const std::string& container = shared.container;
  const std::string& plain = shared.plain;
  const std::vector<Way> ways = {
      {"fatctx", "record_on_acquire", [&] { return hold_session(container, VerifyPolicy::kRecordOnAcquire); }},
      {"fatctx", "none", [&] { return hold_session(container, VerifyPolicy::kNone); }},
      {"plain file, mapped", "nothing", [&] { return hold_map(plain); }},
      {"plain file, heap copy", "nothing", [&] { return hold_copy(plain); }},
  };
  Report report;
  report.question = "N processes that use one file";
  report.workload =
      fmt::format("one weight blob of {} bytes; each process opens it and touches every page", weights_size);
  report.notes = {
      fmt::format("the ways take turns, {} repetitions; the processes of a round open one after another",
                  options.repetitions),
      "Pss: every page divided by the number of its mappings; growth since before the open, summed over the processes",
      "times are those of the process that opens last, until it has touched every page; warm: no process waits for a "
      "disk",
  };
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{8}}) {
    std::vector<std::vector<double>> pss(ways.size());
    std::vector<std::vector<double>> anonymous(ways.size());
    std::vector<std::vector<double>> last(ways.size());
    for (int repetition = 0; repetition < options.repetitions; ++repetition) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        if (weights_size * count > available_memory() / 2) stop("too little free memory for the heap copies");
        double pss_sum = 0;
        double anonymous_sum = 0;
        const std::vector<Grown> grown = run(ways[i], count);
        for (const Grown& one : grown) {
          pss_sum += static_cast<double>(one.memory.pss);
          anonymous_sum += static_cast<double>(one.memory.anonymous);
        }
        pss[i].push_back(pss_sum / kMiB);
        anonymous[i].push_back(anonymous_sum / kMiB);
        last[i].push_back(grown.back().us);
      }
    }
    const auto each = [&](const char* what, const char* unit, const std::vector<std::vector<double>>& values) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        report.rows.push_back(row_of(fmt::format("{} x {}: {}", count, what, ways[i].name), ways[i].policy,
                                     weights_size, unit, values[i]));
      }
    };
    const std::size_t first = report.rows.size();
    each("Pss, all", "MiB", pss);
    const double share = report.rows[first].median * kMiB / static_cast<double>(weights_size);
    report.rows[first].target = at_most("of the bytes", share, kMostPss);
    each("anonymous, all", "MiB", anonymous);
    each("time of the last one", "us", last);
  }
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Memory and time of N processes that use one file", 5,
                                  fatctx::bench::measure);
}
