// Forks in the middle of opens: the child finds every table whole and opens files itself.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "fatctx/model.h"
#include "runtime/small_model.h"
#include "support/sanitized.h"

namespace fatctx {
namespace fork_test {

using testing::Folder;

int rounds() {
  const char* asked = std::getenv("FATCTX_FORK_ROUNDS");
  return asked == nullptr ? 400 : std::atoi(asked);
}

// Does what a program may do in a child after a fork. alarm() ends a child that waits for a lock without a holder.
int child_work(const std::string& path) {
  ::alarm(20);
  const auto container = Container::open(path);
  if (!container.ok() || !container.value().acquire("weights").ok()) return 1;
  OpenOptions copying;
  copying.file_mapping = FileMapping::kDisabled;
  const auto copy = Container::open(path, copying);
  return copy.ok() && copy.value().acquire("weights").ok() ? 0 : 2;
}

TEST(Fork, ChildrenOfAnyMomentOpenForThemselves) {
  // allocation_test.cc does not keep forks away from the C library's own calls of malloc().
  if (support::kSanitized) GTEST_SKIP() << "the sanitizer's malloc leaves its locks held in a forked child";
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  std::atomic<bool> stop{false};
  std::vector<std::thread> openers;
  for (int i = 0; i < 3; ++i) {
    openers.emplace_back([&, i] {
      OpenOptions options;
      if (i == 2) options.file_mapping = FileMapping::kDisabled;
      while (!stop) {
        const auto container = Container::open(path, options);
        if (container.ok()) (void)container.value().acquire("weights");
      }
    });
  }
  int bad = 0;
  for (int round = 0; round < rounds() && bad == 0; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(child_work(path));
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (status != 0) bad = status;
  }
  stop = true;
  for (std::thread& opener : openers) opener.join();

  EXPECT_EQ(bad, 0) << "a child that was ended by its alarm waited for a lock that nobody held any more";
  std::printf("%d forks\n", rounds());
}

TEST(Fork, ExecInheritsNoDescriptorOfOurs) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const Container container = Container::open(path).value();
  const RecordView view = container.acquire("weights").value();

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string script = "ls -l /proc/self/fd | grep -q m.fatctx && exit 1; exit 0";
    ::execl("/bin/sh", "sh", "-c", script.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}

}  // namespace fork_test
}  // namespace fatctx
