// Ctrl-C while a container is written: the old file stays unchanged, and nothing else is left behind.
#include "tools/cli/interrupt.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "fatctx/keys.h"
#include "support/chip_corpus.h"
#include "support/sample_container.h"
#include "tools/cli/command.h"

namespace fatctx::tools {
namespace interrupt_test {

using support::Bytes;

using Handler = void (*)(int);
Handler handler_now() {
  const Handler handler = std::signal(SIGINT, SIG_DFL);
  std::signal(SIGINT, handler);
  return handler;
}

TEST(Interrupt, TheFirstSignalIsNotedAndTheSecondWouldEndTheProcess) {
  const Handler before = handler_now();
  {
    const Interrupt interrupt;
    EXPECT_FALSE(interrupt.flag()->load());
    std::raise(SIGINT);
    EXPECT_TRUE(interrupt.flag()->load());
    EXPECT_EQ(handler_now(), SIG_DFL);
  }
  EXPECT_EQ(handler_now(), before);
  const Interrupt again;
  EXPECT_FALSE(again.flag()->load());
}

TEST(Interrupt, WhoIsStartedWithTheSignalIgnoredIgnoresIt) {
  const Handler before = std::signal(SIGINT, SIG_IGN);
  {
    const Interrupt interrupt;
    std::raise(SIGINT);
    EXPECT_FALSE(interrupt.flag()->load());
  }
  EXPECT_EQ(handler_now(), SIG_IGN);
  std::signal(SIGINT, before);
}

// Returns true once the child has a temporary: a file of this folder that it may write to.
bool is_writing(pid_t child, const std::string& folder) {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(child) + "/fd", gone)) {
    const std::string to = std::filesystem::read_symlink(entry.path(), gone).string();
    if (to.starts_with(folder + "/") && !to.ends_with("/big.fatctx") && !to.ends_with("/said")) return true;
  }
  return false;
}

class InterruptOf : public ::testing::TestWithParam<const char*> {};

TEST_P(InterruptOf, AContainerThatIsBeingWrittenAnewIsAsItWas) {
  const support::TempDir folder;
  const support::TempDir keys;
  const std::string path = folder.file("big.fatctx");
  std::mt19937_64 random(5);
  std::vector<PackRecord> records;
  for (const char* arch : {"v73", "v75", "v79"}) {
    records.push_back(support::binary_record(arch, arch, support::random_bytes(random, 48'000'000)));
  }
  ASSERT_TRUE(support::pack(std::move(records), path).ok());
  const std::string key = make_keys(keys.file("release")).value().secret_path;
  const Bytes before = support::read_file(path);
  std::vector<std::string> command = {GetParam(), path};
  const std::vector<std::string> compact = {"--sharing", "bytes", "-j", "1"};
  const std::vector<std::string> sign = {"--key", key};
  const auto& more = command[0] == "sign" ? sign : compact;
  command.insert(command.end(), more.begin(), more.end());

  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen(folder.file("said").c_str(), "w", stderr) == nullptr) ::_exit(98);
    const ExitCode code = run_command(command);
    std::fflush(nullptr);
    ::_exit(static_cast<int>(code));
  }
  while (!is_writing(child, folder.path()) && ::waitpid(child, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_EQ(::kill(child, SIGINT), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitCode::kEnvironment));
  const Bytes said = support::read_file(folder.file("said"));
  const std::string text(reinterpret_cast<const char*>(said.data()), said.size());
  EXPECT_NE(text.find("(cancelled)"), std::string::npos) << text;
  EXPECT_TRUE(support::read_file(path) == before);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"big.fatctx", "said"}));
}

INSTANTIATE_TEST_SUITE_P(Commands, InterruptOf, ::testing::Values("compact", "sign"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace interrupt_test
}  // namespace fatctx::tools
