// Run under ThreadSanitizer as well (preset tsan).
#include <atomic>
#include <thread>
#include <vector>

#include "fatctx/metrics.h"
#include "runtime/sliced_model.h"

namespace fatctx {
namespace {

class StitchedViewThreads : public testing::SlicedModel {};

TEST_F(StitchedViewThreads, ThreadsThatAskAtOnceShareOneRange) {
  const Container container = open();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    std::vector<std::optional<RecordView>> views(8);
    std::atomic<bool> go{false};
    for (auto& slot : views) {
      threads.emplace_back([&] {
        while (!go) std::this_thread::yield();
        auto view = container.acquire("weights");
        if (view.ok()) slot.emplace(std::move(view).value());
      });
    }
    go = true;
    for (std::thread& thread : threads) thread.join();
    for (const auto& view : views) {
      ASSERT_TRUE(view.has_value());
      ASSERT_EQ(view->data(), views.front()->data());
    }
    ASSERT_TRUE(shows(*views.back(), "weights"));
  }
}

TEST_F(StitchedViewThreads, ViewsComeAndGoWhileOthersAskForTheirPages) {
  const Container container = open();
  const std::uint32_t weights = id(container, "weights");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  const auto again_and_again = [&](auto body) {
    threads.emplace_back([&wrong, body] {
      for (int round = 0; round < 40; ++round) wrong += body() ? 0 : 1;
    });
  };
  again_and_again([&] { return container.acquire(weights).ok(); });
  again_and_again([&] { return shows(container.acquire(weights).value(), "weights"); });
  again_and_again([&] { return container.prefetch(weights).ok(); });
  again_and_again([&] { return container.release(weights, {.keep_cached = true}).ok(); });
  again_and_again([&] { return !container_metrics(container).records.empty(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace fatctx
