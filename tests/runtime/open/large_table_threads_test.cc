// Threads that ask one container with a large table of contents for different records. Run under ThreadSanitizer as
// well (preset tsan).
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/metrics.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace large_table_threads_test {

TEST(LargeTableThreads, FindEachRecordOnceAndTheWholeTableMeanwhile) {
  constexpr std::uint32_t kRecords = 400;
  constexpr std::uint32_t kThreads = 8;
  std::vector<PackRecord> records;
  for (std::uint32_t i = 0; i < kRecords; ++i) {
    records.push_back(support::binary_record("binary " + std::to_string(i), "x86-64-v3", support::pattern(100 + i, i)));
    records.back().key.unit = "unit " + std::to_string(i);
  }
  const support::TempDir folder;
  const std::string path = folder.file("large.fatctx");
  ASSERT_TRUE(support::is_ok(support::pack(std::move(records), path)));
  for (int round = 0; round < 10; ++round) {
    const Container container = Container::open(path).value();
    std::atomic<std::uint32_t> good = 0;
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint32_t i = 0; i < kRecords; ++i) {
          const std::uint32_t at = (i * 7 + thread * 50) % kRecords;
          const auto view = container.acquire("binary " + std::to_string(at));
          if (view.ok() && std::ranges::equal(view.value().bytes(), support::pattern(100 + at, at))) ++good;
          if (thread == 0 && i == kRecords / 2) (void)container.records();
          if (thread == 1 && i % 100 == 0) (void)container_metrics(container);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, kRecords * kThreads);
    EXPECT_EQ(container.records().value().size(), kRecords + 1);
  }
}

}  // namespace large_table_threads_test
}  // namespace fatctx
