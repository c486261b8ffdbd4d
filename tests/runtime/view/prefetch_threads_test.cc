// Run under ThreadSanitizer as well (preset tsan).
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "fatctx/metrics.h"
#include "fatctx/profile.h"
#include "fatctx/trace.h"
#include "runtime/large_model.h"
#include "support/opened.h"

namespace fatctx {
namespace prefetch_threads_test {

class PrefetchThreads : public ::testing::Test {
 protected:
  void SetUp() override { testing::pack_large_model(path_); }
  const testing::Folder folder_;
  const std::string path_ = folder_ / "m.fatctx";
};

TEST_F(PrefetchThreads, DestroyingAHandleCancelsAndWaits) {
  const Container container = Container::open(path_, testing::unverified()).value();
  std::atomic<int> steps = 0;
  for (int round = 0; round < 20; ++round) {
    PrefetchOptions options;
    options.progress = [&](std::uint64_t, std::uint64_t) { ++steps; };
    auto handle = container.prefetch_in_background(1, options);
    ASSERT_TRUE(handle.ok());
    if (round % 2 == 0) std::this_thread::yield();
  }
  const int after = steps;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(steps, after) << "nothing goes on after the handle is gone";
}

TEST_F(PrefetchThreads, EverythingAboutMemoryAtOnceLeavesTheBytesAsTheyAre) {
  const Container container = Container::open(path_, testing::unverified()).value();
  const std::uint32_t weights = container.find("weights").value().id;
  const RecordView view = container.acquire(weights).value();
  const auto expected = testing::large_pattern(testing::kLargeWeightsSize, 1);
  std::vector<std::thread> threads;
  const auto again_and_again = [&](auto body) {
    threads.emplace_back([body] {
      for (int round = 0; round < 20; ++round) body();
    });
  };
  again_and_again([&] { ASSERT_TRUE(container.prefetch(weights).ok()); });
  again_and_again([&] { (void)container.release(weights, {.keep_cached = true}); });  // refused while it is locked
  again_and_again([&] { (void)container.lock(1); });                                  // refused where the limit is low
  again_and_again([&] { ASSERT_TRUE(container.prefetch_in_background(weights).value().wait().ok()); });
  again_and_again(
      [&] { ASSERT_EQ(container_metrics(container).records.size(), support::records_in(container).size()); });
  again_and_again([&] { ASSERT_TRUE(container.acquire(1).ok()); });

  EXPECT_EQ(std::memcmp(view.data(), expected.data(), expected.size()), 0);
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(container_metrics(container).views, 1U);
}

// Shows S3.15: at any time, from any thread.
TEST_F(PrefetchThreads, ProfileAndTraceAreSwitchedWhileCallsAreMade) {
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> hooked = 0;
  std::atomic<std::uint64_t> lines = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const auto container = Container::open(path_, testing::unverified());
        ASSERT_TRUE(container.ok());
        ASSERT_TRUE(container.value().acquire(1).ok());
      }
    });
  }
  for (int round = 0; round < 50; ++round) {
    start_profile(
        {.level = ProfileLevel::kDetailed, .hook = [&](const ProfileEvent&) { ++hooked; }, .max_events = 100});
    set_trace([&](std::string_view) { ++lines; });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_LE(stop_profile().events.size(), 100U);
    set_trace({});
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  start_profile({.level = ProfileLevel::kOff});

  EXPECT_GT(hooked, 0U);
  EXPECT_GT(lines, 50U) << "more than the titles";
}

}  // namespace prefetch_threads_test
}  // namespace fatctx
