#include "mapping/background_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "support/child_process.h"
#include "support/result_matchers.h"

namespace fatctx::mapping {
namespace background_thread_threads_test {

using support::is_ok;

TEST(BackgroundThreads, AreWaitedForWhenDestroyed) {
  std::atomic<bool> finished = false;
  {
    const auto thread = BackgroundThread::start([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      finished = true;
    });
    ASSERT_TRUE(is_ok(thread));
  }
  EXPECT_TRUE(finished);
}

TEST(BackgroundThreads, TakeNoSignalsAndLeaveTheMaskOfTheirMakerAlone) {
  sigset_t before;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
  sigset_t inside;
  ::sigemptyset(&inside);

  auto thread = BackgroundThread::start([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &inside); });

  ASSERT_TRUE(is_ok(thread));
  EXPECT_TRUE(thread.value()->join());
  sigset_t after;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &after), 0);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) {
    EXPECT_EQ(::sigismember(&inside, signal), 1);
    EXPECT_EQ(::sigismember(&after, signal), ::sigismember(&before, signal));
  }
}

}  // namespace background_thread_threads_test
}  // namespace fatctx::mapping
