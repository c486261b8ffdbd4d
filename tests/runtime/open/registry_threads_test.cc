// Run under ThreadSanitizer as well (preset tsan).
//
// FATCTX_REGISTRY_CYCLES is the total number of cycles (20,000); scripts/prove runs a million under each sanitizer.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "fatctx/model.h"
#include "runtime/facade/open_container.h"
#include "runtime/small_model.h"
#include "support/amount.h"
#include "support/opened.h"

namespace fatctx {
namespace registry_threads_test {

constexpr int kThreads = 64;

Device v3() {
  Device device;
  device.arch = "x86-64-v3";
  return device;
}

template <typename Body>
void in_threads(int count, const Body& body) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ++ready;
      while (ready.load() < count) std::this_thread::yield();
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Shows S5.5, S5.17.
TEST(RegistryThreads, SixtyFourOpensAtOnceMakeOneMapping) {
  const testing::Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  Registry registry;
  std::atomic<int> fresh = 0;
  std::mutex mutex;
  std::set<const std::byte*> addresses;
  std::vector<Container> keep;

  in_threads(kThreads, [&](int) {
    auto opened = open_container(registry, path);
    ASSERT_TRUE(opened.ok()) << to_text(opened.error());
    const auto view = opened.value().acquire("weights");
    ASSERT_TRUE(view.ok()) << to_text(view.error());
    const std::lock_guard lock(mutex);
    if (!support::report_of(opened.value()).already_live) ++fresh;
    addresses.insert(view.value().data());
    keep.push_back(std::move(opened).value());
  });

  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(addresses.size(), 1U);
  EXPECT_EQ(testing::mappings_of(path), 1);
}

TEST(RegistryThreads, LastReleasesRaceWithNewOpens) {
  const testing::Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const auto expected = testing::pattern(testing::kBinarySize, 12);
  Registry registry;

  in_threads(8, [&](int) {
    for (int round = 0; round < 300; ++round) {
      auto opened = open_container(registry, path, {.verify = VerifyPolicy::kNone});
      ASSERT_TRUE(opened.ok()) << to_text(opened.error());
      const auto view = opened.value().acquire("small.x86-64-v3");
      ASSERT_TRUE(view.ok()) << to_text(view.error());
      ASSERT_TRUE(std::ranges::equal(view.value().bytes(), expected));
    }
  });

  EXPECT_EQ(registry.live_count(), 0U);
}

// A file with the current holders of its mapping.
struct CycledFile {
  std::string path;
  std::vector<std::byte> expected;  // of the record "small.aarch64"
  std::mutex mutex = {};
  int holders = 0;
  const std::byte* address = nullptr;  // of the record, for all holders
  int strangers = 0;                   // got another mapping while a holder existed
};

// Opens, acquires, reads and releases. Returns true if this open made the mapping.
bool cycle(Registry& registry, CycledFile& file, bool lets_others_run) {
  const auto opened = open_container(registry, file.path, {.verify = VerifyPolicy::kNone});
  EXPECT_TRUE(opened.ok()) << to_text(opened.error());
  if (!opened.ok()) return false;
  const auto view = opened.value().acquire("small.aarch64");
  EXPECT_TRUE(view.ok()) << to_text(view.error());
  if (!view.ok()) return false;
  const bool made = !support::report_of(opened.value()).already_live;
  {
    // This mapping and those of the holders are alive at the same time, so they must be the same one.
    const std::lock_guard lock(file.mutex);
    if (file.holders > 0 && file.address != view.value().data()) ++file.strangers;
    file.address = view.value().data();
    ++file.holders;
  }
  if (lets_others_run) std::this_thread::yield();
  EXPECT_EQ(view.value().size_bytes(), file.expected.size());
  EXPECT_EQ(std::memcmp(view.value().data(), file.expected.data(), file.expected.size()), 0);
  const std::lock_guard lock(file.mutex);
  --file.holders;
  return made;
}

// Shows S5.5. Every second cycle uses one file, which many hold together; mappings of the other files come and go.
TEST(RegistryThreads, CyclesOnSixtyFourThreadsShareOneMappingAFileAndLeaveNothing) {
  const int cycles = support::amount("FATCTX_REGISTRY_CYCLES", 20'000);
  const testing::Folder folder;
  std::array<CycledFile, 32> files;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    files[i].path = folder / ("m" + std::to_string(i) + ".fatctx");
    testing::pack_small_model(files[i].path, false, i + 1);
    files[i].expected = testing::pattern(testing::kBinarySize, 10 * (i + 1) + 4);
  }
  const int descriptors = testing::open_descriptors();
  Registry registry;
  std::atomic<int> left = cycles;
  std::atomic<int> made = 0;

  in_threads(kThreads, [&](int thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    while (left.fetch_sub(1) > 0 && !HasFailure()) {
      CycledFile& file = files[random() % 2 == 0 ? 0 : random() % files.size()];
      if (cycle(registry, file, random() % 4 == 0)) ++made;
    }
  });

  for (const CycledFile& file : files) {
    EXPECT_EQ(file.strangers, 0) << "of a file that was mapped, another mapping was handed out";
    EXPECT_EQ(testing::mappings_of(file.path), 0);
  }
  EXPECT_EQ(registry.live_count(), 0U);
  EXPECT_EQ(testing::open_descriptors(), descriptors);
  EXPECT_GT(made, cycles / 1'000) << "mappings were hardly ever dropped";
  EXPECT_LT(made, cycles) << "no mapping was ever shared";
  std::printf("%d cycles, %d mappings made\n", cycles, made.load());
}

TEST(RegistryThreads, FailingOpensDoNotKeepOthersWaiting) {
  const testing::Folder folder;
  const std::string bad = folder / "bad.fatctx";
  testing::pack_small_model(bad);
  std::filesystem::resize_file(bad, 100'000);
  Registry registry;

  in_threads(16, [&](int) {
    for (int round = 0; round < 50; ++round) {
      ASSERT_EQ(open_container(registry, bad).error().code, ErrorCode::kTruncated);
    }
  });

  EXPECT_EQ(registry.live_count(), 0U);
}

TEST(RegistryThreads, SixtyFourThreadsVerifyAndUseOneRecordLazily) {
  const testing::Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const auto model = Model::open(path, {.device = v3()});
  ASSERT_TRUE(model.ok()) << to_text(model.error());

  in_threads(kThreads, [&](int) {
    const auto session = model.value().begin_session();
    ASSERT_TRUE(session.ok()) << to_text(session.error());
    const auto tensor = session.value().weight("layer/1");
    ASSERT_TRUE(tensor.ok()) << to_text(tensor.error());
    ASSERT_EQ(tensor.value().bytes().size(), 120'000U);
  });
}

// Shows S3.72: any destruction order is legal, on any thread.
TEST(RegistryThreads, AllOrdersOfDestructionOfContainerTwoSessionsAndThreeViews) {
  const testing::Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  std::array<int, 6> order = {0, 1, 2, 3, 4, 5};
  int orders = 0;

  do {
    for (const bool other_thread : {false, true}) {
      struct Parts {
        std::optional<Model> model;
        std::optional<Session> sessions[2];
        std::optional<RecordView> views[2];
        std::optional<WeightView> tensor;
      } parts;
      auto model = Model::open(path, {.open = {.verify = VerifyPolicy::kNone}, .device = v3()});
      ASSERT_TRUE(model.ok());
      parts.sessions[0].emplace(model.value().begin_session().value());
      parts.sessions[1].emplace(model.value().begin_session().value());
      parts.views[0].emplace(parts.sessions[0]->binary().value());
      parts.views[1].emplace(model.value().container()->acquire("weights").value());
      parts.tensor.emplace(parts.sessions[1]->weight("layer/0").value());
      parts.model.emplace(std::move(model).value());

      const auto destroy_all = [&] {
        for (const int part : order) {
          switch (part) {
            case 0:
              parts.model.reset();
              break;
            case 1:
              parts.sessions[0].reset();
              break;
            case 2:
              parts.sessions[1].reset();
              break;
            case 3:
              parts.views[0].reset();
              break;
            case 4:
              parts.views[1].reset();
              break;
            default:
              parts.tensor.reset();
              break;
          }
          // The remaining objects can still be read.
          if (parts.tensor) {
            ASSERT_NE(parts.tensor->bytes()[1], parts.tensor->bytes()[2]);
          }
          if (parts.views[1]) {
            ASSERT_EQ(parts.views[1]->size_bytes(), testing::kWeightsSize);
          }
        }
      };
      if (other_thread) {
        std::thread(destroy_all).join();
      } else {
        destroy_all();
      }
      ASSERT_EQ(testing::mappings_of(path), 0);
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));

  EXPECT_EQ(orders, 720);
}

}  // namespace registry_threads_test
}  // namespace fatctx
