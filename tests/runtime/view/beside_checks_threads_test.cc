// Threads that begin checks beside the load, wait for them and drop their handles at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "fatctx/container.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace beside_checks_threads_test {

using support::is_ok;

TEST(BesideLoadThreads, ManyMayAcquireAndWaitAtOnce) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  std::vector<PackRecord> records;
  for (unsigned i = 0; i < 4; ++i) {
    records.push_back(support::plain_record(RecordType::kOpaque, std::string(1, static_cast<char>('a' + i)),
                                            support::pattern(900'000 + i, 60 + i)));
  }
  ASSERT_TRUE(is_ok(support::pack(std::move(records), path)));
  const OpenOptions beside = {.verify = VerifyPolicy::kBesideLoad};
  const Container shared = Container::open(path, beside).value();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (unsigned round = 0; round < 30; ++round) {
        const Container own = round % 2 == 0 ? shared : Container::open(path, beside).value();
        const std::string name(1, static_cast<char>('a' + (thread + round) % 4));
        const auto view = own.acquire(name);
        if (!view.ok()) {
          ++wrong;
          continue;
        }
        const std::uint32_t id = view.value().record_id();
        if (round % 3 != 0) wrong += own.await_checks({&id, 1}).ok() ? 0 : 1;
        if (round % 5 == 0) wrong += own.await_checks().ok() ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(is_ok(shared.await_checks()));
}

}  // namespace beside_checks_threads_test
}  // namespace fatctx
