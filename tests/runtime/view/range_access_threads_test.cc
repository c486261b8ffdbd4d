// Ranges that threads provide and release at once, while others open and close the file. Shows S5.17.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/range_access.h"
#include "runtime/small_model.h"

namespace fatctx {
namespace range_access_threads_test {

TEST(RangeAccessThreads, ProvideReleaseOpenAndCloseAtOnce) {
  const testing::Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  std::atomic<int> balance{0};
  std::atomic<int> failures{0};
  {
    const RangeAccess access(Container::open(path).value().acquire("weights").value(),
                             {.provided = [&](ByteView) -> Status {
                                ++balance;
                                return Done{};
                              },
                              .released = [&](ByteView) { --balance; }});
    const std::byte* const expected = access.provide(0, 64).value().data;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 8; ++t) {
      threads.emplace_back([&access, &failures, t] {
        for (std::uint64_t i = 0; i < 200; ++i) {
          const auto range = access.provide((t * 200 + i) * 50 % 190'000, 64);
          if (!range.ok() || !access.release(range.value().id).ok()) ++failures;
        }
      });
      threads.emplace_back([&path, &failures, expected] {
        for (int i = 0; i < 40; ++i) {
          const RangeAccess own(Container::open(path).value().acquire("weights").value());
          const auto range = own.provide(0, 64);  // the first one is left to the destructor
          if (!range.ok() || range.value().data != expected) ++failures;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(access.outstanding(), 1U);
    EXPECT_EQ(testing::mappings_of(path), 1);
  }

  EXPECT_EQ(failures, 0);
  EXPECT_EQ(balance, 0);
  EXPECT_EQ(testing::mappings_of(path), 0);
}

}  // namespace range_access_threads_test
}  // namespace fatctx
