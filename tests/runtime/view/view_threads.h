// Thread tests for views of several pieces, of any kind.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fatctx/metrics.h"
#include "fatctx/model.h"

namespace fatctx::testing {

// Returns views of one record that this many threads requested at the same time; all have the same address.
inline std::vector<RecordView> views_at_once(const Container& container, const std::string& record, std::size_t count) {
  std::vector<std::thread> threads;
  std::vector<std::optional<RecordView>> slots(count);
  std::atomic<bool> go{false};
  for (auto& slot : slots) {
    threads.emplace_back([&] {
      while (!go) std::this_thread::yield();
      auto view = container.acquire(record);
      if (view.ok()) slot.emplace(std::move(view).value());
    });
  }
  go = true;
  for (std::thread& thread : threads) thread.join();
  std::vector<RecordView> views;
  for (auto& slot : slots) {
    EXPECT_TRUE(slot.has_value()) << "a thread got no view";
    if (slot) views.push_back(std::move(*slot));
    EXPECT_EQ(views.empty() ? nullptr : views.back().data(), views.empty() ? nullptr : views.front().data());
  }
  return views;
}

// Runs threads that acquire, read, prefetch, release and measure one record, `rounds` times each. `more` runs on one
// more thread.
inline void views_come_and_go(const Container& container, const std::string& record, int rounds,
                              const std::function<bool(const RecordView&)>& shows,
                              const std::function<bool()>& more = {}) {
  const std::uint32_t id = container.find(record).value().id;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  const auto again_and_again = [&](auto body) {
    threads.emplace_back([&wrong, rounds, body] {
      for (int round = 0; round < rounds; ++round) wrong += body() ? 0 : 1;
    });
  };
  again_and_again([&] { return container.acquire(id).ok(); });
  again_and_again([&] { return shows(container.acquire(id).value()); });
  again_and_again([&] { return container.prefetch(id).ok(); });
  again_and_again([&] { return container.release(id, {.keep_cached = true}).ok(); });
  again_and_again([&] { return !container_metrics(container).records.empty(); });
  if (more) again_and_again(more);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace fatctx::testing
