// Child processes of a process with threads, which ThreadSanitizer cannot follow.
#include "mapping/background_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/child_process.h"
#include "support/result_matchers.h"

namespace fatctx::mapping {
namespace background_thread_test {

TEST(BackgroundThread, IsNotWaitedForInAForkedChild) {
  std::atomic<bool> stop = false;
  auto thread = BackgroundThread::start([&] {
    while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  ASSERT_TRUE(support::is_ok(thread));

  const int result = support::in_child([&] {
    ::alarm(20);  // the child would wait for ever
    if (thread.value()->join()) return 1;
    thread.value().reset();
    return 0;
  });
  stop = true;

  EXPECT_EQ(result, 0);
  EXPECT_TRUE(thread.value()->join());
}

TEST(BackgroundThread, IsATypedErrorWhereTheSystemHasNone) {
  const int result = support::in_child([] {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) return support::kChildSkipped;
    if (::geteuid() == 0 && (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0)) {
      return support::kChildSkipped;
    }
    const auto refused = BackgroundThread::start([] {});
    return refused.ok() || refused.error().code != ErrorCode::kNoResource ? 1 : 0;
  });
  if (result == support::kChildSkipped) GTEST_SKIP() << "the limit cannot be lowered here";
  EXPECT_EQ(result, 0);
}

}  // namespace background_thread_test
}  // namespace fatctx::mapping
