// kill -9 in the middle of an append, for real: at every system call, and at any moment. What was acknowledged is
// there, and the next append works.
//
// FATCTX_KILLS is how many kills at any moment (50), FATCTX_CRASH_SEED where chance begins (1). Shows promise 4 of
// docs/testing.md.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <utility>

#include "crash/append_loop.h"
#include "support/result_matchers.h"

namespace fatctx::crash {
namespace {

using support::is_ok;

// What a process that appends says of its generations, through a pipe that outlives it.
class Acknowledgements {
 public:
  Acknowledgements() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  ~Acknowledgements() {
    for (const int end : ends_) ::close(end);
  }
  Acknowledgements(const Acknowledgements&) = delete;
  Acknowledgements& operator=(const Acknowledgements&) = delete;

  // In the child: appends until something fails, or `most` times.
  [[nodiscard]] int append(const std::string& path, int most) const {
    for (int i = 0; i < most; ++i) {
      const auto generation = append_next(path);
      if (!generation.ok()) return 1;
      if (::write(ends_[1], &generation.value(), sizeof(std::uint64_t)) != sizeof(std::uint64_t)) return 2;
    }
    return 0;
  }

  // In the parent, once the child is gone: the last one, or `otherwise`.
  [[nodiscard]] std::uint64_t last(std::uint64_t otherwise) {
    ::close(std::exchange(ends_[1], -1));
    std::uint64_t generation = otherwise;
    while (::read(ends_[0], &generation, sizeof generation) == sizeof generation) {
    }
    return generation;
  }

 private:
  int ends_[2] = {-1, -1};
};

int wait_for(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("the child is lost");
  return status;
}

class Kill : public ::testing::Test {
 protected:
  Kill() { write_first_generation(path_); }

  // Files grow, and generations are limited.
  void start_anew_now_and_then() {
    if (acknowledged_ < 40) return;
    std::filesystem::remove(path_);
    write_first_generation(path_);
    acknowledged_ = 1;
  }

  void expect_whole_and_appendable(Acknowledgements& said) {
    acknowledged_ = said.last(acknowledged_);
    ASSERT_EQ(complaint_about(path_, acknowledged_), "");
    const auto next = append_next(path_);
    ASSERT_TRUE(is_ok(next));
    acknowledged_ = next.value();
    ASSERT_EQ(complaint_about(path_, acknowledged_), "");
  }

  const support::TempDir folder_;
  const std::string path_ = folder_.file("m.fatctx");
  std::uint64_t acknowledged_ = 1;
};

enum class Traced { kKilled, kEnded, kNotAllowed };

// Lets the child go on to the `stop`-th time that it enters or leaves a system call, and kills it there.
Traced kill_at(pid_t child, int stop) {
  if (!WIFSTOPPED(wait_for(child))) return Traced::kNotAllowed;
  (void)::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  for (int i = 0; i < stop; ++i) {
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return Traced::kNotAllowed;
    const int status = wait_for(child);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      return Traced::kEnded;
    }
  }
  ::kill(child, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(wait_for(child)));
  return Traced::kKilled;
}

TEST_F(Kill, AtEverySystemCallLeavesWhatWasAcknowledged) {
  int stop = 0;
  for (bool ended = false; !ended && !HasFailure(); ++stop) {
    SCOPED_TRACE("at stop " + std::to_string(stop));
    ASSERT_LT(stop, 5'000) << "it never ends";
    start_anew_now_and_then();
    Acknowledgements said;
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(3);
      (void)::raise(SIGSTOP);
      ::_exit(said.append(path_, 2));
    }
    const Traced traced = kill_at(child, stop);
    if (traced == Traced::kNotAllowed) GTEST_SKIP() << "one process may not trace another here";
    ended = traced == Traced::kEnded;
    expect_whole_and_appendable(said);
  }
  EXPECT_GT(stop, 60) << "two appends make more system calls than that";
  std::printf("killed at each of %d stops\n", stop - 1);
}

TEST_F(Kill, AtAnyMomentLeavesWhatWasAcknowledged) {
  const char* asked = std::getenv("FATCTX_KILLS");
  const int kills = asked == nullptr ? 50 : std::atoi(asked);
  const char* seed = std::getenv("FATCTX_CRASH_SEED");
  std::mt19937_64 random(seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10));
  std::uint64_t generations = 0;
  for (int i = 0; i < kills && !HasFailure(); ++i) {
    SCOPED_TRACE("kill " + std::to_string(i));
    start_anew_now_and_then();
    Acknowledgements said;
    std::fflush(nullptr);
    const std::uint64_t before = acknowledged_;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(said.append(path_, 500));
    ::usleep(static_cast<useconds_t>(random() % 20'000));
    ::kill(child, SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(wait_for(child))) << "it ended by itself";
    expect_whole_and_appendable(said);
    generations += acknowledged_ - before;
  }
  std::printf("%d kills, %llu generations acknowledged\n", kills, static_cast<unsigned long long>(generations));
  EXPECT_GT(generations, static_cast<std::uint64_t>(kills)) << "not only those of this process";
}

}  // namespace
}  // namespace fatctx::crash
