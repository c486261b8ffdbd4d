// kill -9 in the middle of every operation that writes a container, on real processes: at every system call and at
// random moments, while a reader keeps opening the file. Every open gives a whole container with everything that was
// acknowledged, and the next operation works.
//
// FATCTX_KILLS is the number of kills at random moments, over all operations (36). From 1,000 on, each operation is
// also killed at every system call, and not only at some. FATCTX_CRASH_SEED is the random seed (1). Shows promises 4
// and 5 of docs/testing.md.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <random>

#include "crash/kill_operations.h"
#include "support/amount.h"
#include "support/opened.h"
#include "support/result_matchers.h"

namespace fatctx::crash::kills {
namespace kill_test {

using support::is_ok;

constexpr int kUsualKills = 36;
constexpr int kManyKills = 1'000;
constexpr int kMostInVain = 100;  // kills of writers that have not done anything yet
constexpr int kNeverEnding = 1'000'000;

int kills_asked_for() { return support::amount("FATCTX_KILLS", kUsualKills); }

int wait_for(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("the child is lost");
  return status;
}

// A child process that ends with its parent, and that is killed with this object.
class Child {
 public:
  explicit Child(const std::function<int()>& work) {
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no process");
    if (pid_ == 0) {
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::_exit(work());
    }
  }
  ~Child() {
    if (pid_ != 0) (void)kill();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] bool is_alive() const {
    siginfo_t info = {};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
  }
  // Kills the child. Returns false if it had already ended by itself.
  [[nodiscard]] bool kill() {
    ::kill(pid_, SIGKILL);
    return WIFSIGNALED(wait_for(std::exchange(pid_, 0)));
  }
  // Releases the child after the caller has waited for it.
  void forget() noexcept { pid_ = 0; }

 private:
  pid_t pid_ = 0;
};

class Kill : public ::testing::TestWithParam<Operation> {
 protected:
  Kill() {
    place_.keys = make_keys(folder_.file("key")).value();
    for (const std::string& path : {place_.target, place_.source}) {
      write_first(path);
    }
    for (const int promise : {0, 1}) {
      board_->promises[promise].adding = kBatch;
      board_->promises[promise].added = kBatch;
      board_->promises[promise].generation = 1;
    }
  }

  void SetUp() override {
    const auto began = std::chrono::steady_clock::now();
    ASSERT_TRUE(is_ok(operation_.round(place_, 0)));
    round_took_ = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began);
    files_ = operation_.files(place_);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) ours_.insert(entry.path().string());
    reader_.emplace([this] {
      read_all_the_while(*board_, files_);
      return 1;
    });
    while (board_->opens == 0 && reader_->is_alive()) ::usleep(1'000);
  }

  void TearDown() override {
    if (!reader_) return;
    EXPECT_TRUE(reader_->kill()) << "the reader has ended: " << board_->complaint;
    EXPECT_GT(board_->opens, 0U);
  }

  // Returns a generator whose numbers depend on the seed and the operation only.
  [[nodiscard]] std::mt19937_64 chance() const {
    return std::mt19937_64(static_cast<std::uint64_t>(support::amount("FATCTX_CRASH_SEED", 1)));
  }

  void write_first(const std::string& path) const {
    std::vector<PackRecord> records = {base_record()};
    for (std::uint64_t number = 1; number <= kBatch; ++number) {
      for (int writer = 0; writer < operation_.writers; ++writer) records.push_back(numbered_record(writer, number));
    }
    PackOptions options;
    options.extent_log2 = operation_.extent_log2;
    support::write_file(path, support::packed_bytes(std::move(records), std::move(options)));
  }

  // Runs rounds in a child until something fails or the child is killed.
  [[nodiscard]] int go_on(int writer, int rounds) const {
    for (int i = 0; i < rounds; ++i) {
      const auto done = operation_.round(place_, writer);
      if (done.ok()) {
        ++board_->rounds;
        continue;
      }
      std::fprintf(stderr, "%s: %s\n", operation_.name, to_text(done.error()).c_str());
      return 1;
    }
    return 0;
  }

  // Checks that the files are right and that the next round works. No writer may be running.
  void expect_whole_and_usable() {
    ASSERT_TRUE(reader_->is_alive()) << "the reader has ended: " << board_->complaint;
    for (const Watched& file : files_) {
      ASSERT_EQ(Look(*board_, file).complaint(true), "");
      if (file.repaired) {
        ASSERT_TRUE(is_ok(repair(file.path, {.threads = 1})));
        board_->repaired = board_->damaging.load();
      }
      take_over(file);
    }
    remove_temporaries();
    shorten_now_and_then();
    for (int writer = 0; writer < operation_.writers; ++writer) ASSERT_TRUE(is_ok(operation_.round(place_, writer)));
    for (const Watched& file : files_) ASSERT_EQ(Look(*board_, file).complaint(true), "");
  }

  // Makes the file's content the promised one: a killed writer may or may not have done what it intended.
  void take_over(const Watched& file) {
    const auto container = Container::open(file.path, file.options);
    ASSERT_TRUE(is_ok(container));
    for (const Row& row : file.rows) {
      const std::set<std::uint64_t> numbers = numbers_in(container.value(), row.writer);
      ASSERT_FALSE(numbers.empty());
      Promise& promise = board_->promises[row.promise];
      promise.added = promise.adding = *numbers.rbegin();
      promise.removed = promise.removing = *numbers.begin() - 1;
      promise.generation = support::report_of(container.value()).generation;
      promise.sealing = promise.sealed = support::report_of(container.value()).sealed ? *numbers.rbegin() : 0;
    }
  }

  [[nodiscard]] unsigned long long opens() const { return board_->opens.load(); }

  // Removes the temporary files that a kill leaves next to the files.
  void remove_temporaries() {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (ours_.contains(entry.path().string())) continue;
      std::filesystem::remove(entry.path());
      ++temporaries_;
    }
  }

  // Writes a file anew without its old records once it has many: files grow, and generations are limited.
  void shorten_now_and_then() {
    constexpr std::uint64_t kMost = 24;
    const Watched& file = files_.front();
    if (file.batch != 0 || file.repaired) return;
    const auto container = Container::open(file.path, file.options);
    ASSERT_TRUE(is_ok(container));
    if (support::records_in(container.value()).size() < kMost) return;
    std::vector<std::uint32_t> gone;
    for (const Row& row : file.rows) {
      Promise& promise = board_->promises[row.promise];
      promise.removing = promise.added - 1;
      for (std::uint64_t number = promise.removed + 1; number <= promise.removing; ++number) {
        gone.push_back(container.value().find(name_of(row.writer, number)).value().id);
      }
    }
    RewriteOptions options;
    options.keep = records_without(support::records_in(container.value()), gone).value();
    ASSERT_TRUE(is_ok(rewrite(file.path, board_->promises[file.rows.front().promise], options)));
    for (const Row& row : file.rows) {
      Promise& promise = board_->promises[row.promise];
      promise.removed = promise.removing.load();
    }
  }

  const Operation& operation_ = GetParam();
  const support::TempDir folder_{support::parent_in_memory()};
  const SharedBoard board_;
  Place place_ = {folder_.file("m.fatctx"), folder_.file("source.fatctx"), {}, *board_};
  std::vector<Watched> files_;
  std::set<std::string> ours_;
  std::chrono::microseconds round_took_ = {};
  std::uint64_t temporaries_ = 0;
  std::optional<Child> reader_;
};

enum class Traced { kKilled, kEnded, kNotAllowed };

// Lets the child run until it enters or leaves a system call for the `stop`-th time, and kills it there.
Traced kill_at(Child& child, int stop) {
  if (!WIFSTOPPED(wait_for(child.pid()))) return Traced::kNotAllowed;
  (void)::ptrace(PTRACE_SETOPTIONS, child.pid(), nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  for (int i = 0; i < stop; ++i) {
    if (::ptrace(PTRACE_SYSCALL, child.pid(), nullptr, nullptr) != 0) return Traced::kNotAllowed;
    const int status = wait_for(child.pid());
    if (WIFEXITED(status)) {
      child.forget();
      EXPECT_EQ(WEXITSTATUS(status), 0);
      return Traced::kEnded;
    }
  }
  EXPECT_TRUE(child.kill());
  return Traced::kKilled;
}

TEST_P(Kill, AtEverySystemCallLeavesWhatWasAcknowledged) {
  // A usual run takes only some of the stops, at different places for each operation and seed.
  constexpr int kUsualStride = 101;
  const int stride = kills_asked_for() < kManyKills ? kUsualStride : 1;
  int killed = 0;
  int stop = static_cast<int>(chance()() % static_cast<unsigned>(stride));
  for (bool ended = false; !ended && !HasFatalFailure(); stop += stride) {
    SCOPED_TRACE("at stop " + std::to_string(stop));
    ASSERT_LT(stop, 20'000) << "it never ends";
    Child child([&] {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return 3;
      (void)::raise(SIGSTOP);
      return go_on(0, 1);
    });
    std::optional<Child> other;
    if (operation_.writers > 1) other.emplace([&] { return go_on(1, kNeverEnding); });
    const Traced traced = kill_at(child, stop);
    if (traced == Traced::kNotAllowed) GTEST_SKIP() << "one process may not trace another here";
    if (other) {
      EXPECT_TRUE(other->kill()) << "it ended by itself";
    }
    ended = traced == Traced::kEnded;
    if (!ended) killed += operation_.writers;
    expect_whole_and_usable();
  }
  EXPECT_GT(stop, 30) << "a round makes more system calls than that";
  std::printf("killed at %d stops of %s beside %llu opens\n", killed, operation_.name, opens());
}

TEST_P(Kill, AtAnyMomentLeavesWhatWasAcknowledged) {
  const int kills = std::max(1, kills_asked_for() / static_cast<int>(std::size(kOperations)));
  // Microseconds. A multiple of one round's time, so that it fits a slow machine.
  auto longest = std::max<std::uint64_t>(5'000, 4 * static_cast<std::uint64_t>(round_took_.count()));
  std::mt19937_64 random = chance();
  std::uint64_t rounds = 0;
  int killed = 0;
  while ((killed < kills || (rounds == 0 && killed < kMostInVain)) && !HasFatalFailure()) {
    SCOPED_TRACE("kill " + std::to_string(killed));
    const std::uint64_t before = board_->rounds;
    std::vector<std::unique_ptr<Child>> writers;
    for (int writer = 0; writer < operation_.writers; ++writer) {
      writers.push_back(std::make_unique<Child>([&, writer] { return go_on(writer, kNeverEnding); }));
    }
    for (const auto& writer : writers) {
      ::usleep(static_cast<useconds_t>(random() % longest));
      ASSERT_TRUE(writer->kill()) << "it ended by itself";
      ++killed;
    }
    if (board_->rounds == before) longest += longest / 2;
    if (board_->rounds > before + 4) longest -= longest / 4;
    rounds += board_->rounds - before;
    expect_whole_and_usable();
  }
  std::printf("%d kills of %s, %llu rounds and %llu temporaries of those that were killed, %llu opens\n", killed,
              operation_.name, static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(temporaries_),
              opens());
  EXPECT_GT(rounds, 0U) << "they were killed before they did anything";
}

INSTANTIATE_TEST_SUITE_P(Operations, Kill, ::testing::ValuesIn(kOperations),
                         [](const auto& operation) { return std::string(operation.param.name); });

}  // namespace kill_test
}  // namespace fatctx::crash::kills
