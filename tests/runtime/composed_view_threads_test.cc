// Run under ThreadSanitizer as well (preset tsan).
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "fatctx/metrics.h"
#include "runtime/chip_model.h"

namespace fatctx {
namespace {

class ComposedViewThreads : public testing::ChipModel {};

TEST_F(ComposedViewThreads, ThreadsThatAskAtOnceBuildOneRange) {
  const std::string chip = name(mixed());
  const Container container = open();
  for (int round = 0; round < 10; ++round) {
    std::vector<std::thread> threads;
    std::vector<std::optional<RecordView>> views(4);
    std::atomic<bool> go{false};
    for (auto& slot : views) {
      threads.emplace_back([&] {
        while (!go) std::this_thread::yield();
        auto view = container.acquire(chip);
        if (view.ok()) slot.emplace(std::move(view).value());
      });
    }
    go = true;
    for (std::thread& thread : threads) thread.join();
    for (const auto& view : views) {
      ASSERT_TRUE(view.has_value());
      ASSERT_EQ(view->data(), views.front()->data());
    }
    ASSERT_TRUE(shows(*views.back(), mixed()));
    EXPECT_EQ(container_metrics(container).composed_bytes, views.front()->copied_bytes());
  }
}

TEST_F(ComposedViewThreads, ViewsComeAndGoWhileOthersAskForTheirPages) {
  const std::size_t chip = mixed();
  const Container container = open();
  const std::uint32_t id = container.find(name(chip)).value().id;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  const auto again_and_again = [&](auto body) {
    threads.emplace_back([&wrong, body] {
      for (int round = 0; round < 20; ++round) wrong += body() ? 0 : 1;
    });
  };
  again_and_again([&] { return container.acquire(id).ok(); });
  again_and_again([&] { return shows(container.acquire(id).value(), chip); });
  again_and_again([&] { return container.prefetch(id).ok(); });
  again_and_again([&] { return container.release(id, {.keep_cached = true}).ok(); });
  again_and_again([&] { return !container_metrics(container).records.empty(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(container_metrics(container).composed_bytes, 0U);
}

}  // namespace
}  // namespace fatctx
