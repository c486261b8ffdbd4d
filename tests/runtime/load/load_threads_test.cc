// Cancelled loads, and lists of loads. Run under ThreadSanitizer as well (preset tsan).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fatctx/load.h"
#include "support/result_matchers.h"

#include "runtime/open/registry.h"
#include "runtime/small_model.h"
#include "support/aligned_memory.h"
#include "support/descriptors.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace load_threads_test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A system that does not answer: map() waits until the test opens the gate.
class StalledProvider final : public MappingProvider {
 public:
  std::string_view name() const noexcept override { return "stalled"; }
  Result<ByteView> map(int descriptor, std::uint64_t offset, std::uint64_t size) override {
    std::unique_lock lock(mutex_);
    entered_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    auto* bytes = static_cast<std::byte*>(std::malloc(size));
    if (!support::read_descriptor(descriptor, bytes, size, offset)) std::abort();
    ++live_;
    return ByteView(bytes, size);
  }
  void unmap(ByteView mapped) noexcept override {
    std::free(const_cast<std::byte*>(mapped.data()));
    const std::lock_guard lock(mutex_);
    --live_;
    ++undone_;
    changed_.notify_all();
  }
  void wait_until_entered() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entered_; });
  }
  void open_gate() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Returns true if everything that was mapped has been unmapped.
  [[nodiscard]] bool wait_until_undone() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return undone_ > 0 && live_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool entered_ = false;
  bool open_ = false;
  int live_ = 0;
  int undone_ = 0;
};

class LoadThreads : public ::testing::Test {
 protected:
  void SetUp() override { testing::pack_small_model(path_); }
  ~LoadThreads() override {
    stalled_->open_gate();
    // An abandoned load leaves nothing behind.
    for (int i = 0; i < 2000 && Registry::process().live_count() > live_before_; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_LE(Registry::process().live_count(), live_before_);
  }

  [[nodiscard]] static LoadOptions for_aarch64() {
    LoadOptions options;
    options.model.device = Device{};
    options.model.device->arch = "aarch64";
    return options;
  }
  [[nodiscard]] LoadOptions on_stalled_system() const {
    LoadOptions options = for_aarch64();
    options.model.open.mapping_provider = stalled_;
    return options;
  }

  const testing::Folder folder_;
  const std::string path_ = folder_ / "m.fatctx";
  const std::shared_ptr<StalledProvider> stalled_ = std::make_shared<StalledProvider>();
  const std::size_t live_before_ = Registry::process().live_count();
};

TEST_F(LoadThreads, ACancelEndsALoadWhileTheSystemDoesNotAnswer) {
  LoadSignal signal;
  LoadOptions options = on_stalled_system();
  options.model.signal = signal;
  std::string told;
  options.notify = [&](const LoadEvent& event) { told += error_code_name(event.error.value().code); };
  Clock::time_point aborted;
  std::thread other([&] {
    stalled_->wait_until_entered();
    EXPECT_TRUE(signal.in_use());
    aborted = Clock::now();
    signal.cancel();
  });

  const auto loaded = load(path_, options);
  const auto took = Clock::now() - aborted;
  other.join();

  EXPECT_TRUE(support::fails_with(loaded, ErrorCode::kCancelled));
  EXPECT_LT(took, 100ms);
  EXPECT_EQ(told, "cancelled");
  EXPECT_FALSE(signal.in_use());
  stalled_->open_gate();
  EXPECT_TRUE(stalled_->wait_until_undone()) << "what the abandoned thread got is given back";
}

TEST_F(LoadThreads, ATimeoutEndsALoadWhileTheSystemDoesNotAnswer) {
  LoadOptions options = on_stalled_system();
  options.model.signal = LoadSignal(60ms);
  const Clock::time_point before = Clock::now();

  const auto loaded = load(path_, options);

  const auto took = Clock::now() - before;
  ASSERT_TRUE(support::fails_with(loaded, ErrorCode::kTimedOut));
  EXPECT_THAT(loaded.error().message, ::testing::HasSubstr("not loaded after 60 ms"));
  EXPECT_GE(took, 60ms);
  EXPECT_LT(took, 160ms);
}

TEST_F(LoadThreads, ATimeoutThatWasSetLaterCountsAndZeroTakesItBack) {
  LoadSignal signal(1s);
  LoadOptions options = on_stalled_system();
  options.model.signal = signal;

  ASSERT_TRUE(support::is_ok(signal.set_timeout(20ms)));
  const auto late = load(path_, options);
  ASSERT_TRUE(support::is_ok(signal.set_timeout(0ms)));
  options.model.open.mapping_provider = nullptr;
  const auto unlimited = load(path_, options);

  ASSERT_TRUE(support::fails_with(late, ErrorCode::kTimedOut));
  EXPECT_THAT(late.error().message, ::testing::HasSubstr("not loaded after 20 ms"));
  EXPECT_TRUE(support::is_ok(unlimited));
}

TEST_F(LoadThreads, ASignalEndsAnOpenOfAModelToo) {
  ModelOptions options = on_stalled_system().model;
  options.signal = LoadSignal(60ms);
  const Clock::time_point before = Clock::now();

  EXPECT_TRUE(support::fails_with(Model::open(path_, options), ErrorCode::kTimedOut));
  EXPECT_LT(Clock::now() - before, 160ms);
  options.signal = LoadSignal();
  options.signal->cancel();
  EXPECT_TRUE(support::fails_with(Model::open(path_, options), ErrorCode::kCancelled));
  options.signal = LoadSignal(10s);
  options.open.mapping_provider = nullptr;
  EXPECT_TRUE(support::is_ok(Model::open(path_, options)));
}

TEST_F(LoadThreads, AnExceptionOfTheCallersHookLeavesTheCallThatWaits) {
  Packer packer{PackOptions{}};
  PackRecord source;
  source.type = RecordType::kSourceModel;
  source.name = "source";
  source.key.backend = "cpu";
  source.source.bytes = testing::pattern(300, 1);
  ASSERT_TRUE(support::is_ok(packer.add(std::move(source))));
  const std::string path = folder_ / "source.fatctx";
  ASSERT_TRUE(support::is_ok(packer.publish(path)));
  ModelOptions options = for_aarch64().model;
  options.signal = LoadSignal(10s);
  options.prepare = [](const PrepareRequest&) -> Result<std::vector<std::byte>> { throw std::runtime_error("no"); };

  EXPECT_THROW((void)Model::open(path, options), std::runtime_error);
  EXPECT_FALSE(options.signal->in_use());
}

TEST_F(LoadThreads, ASignalServesOneLoadAtATimeAndThenTheNext) {
  LoadSignal signal;
  LoadOptions first = on_stalled_system();
  first.model.signal = signal;
  LoadOptions second = for_aarch64();
  second.model.signal = signal;
  std::optional<Result<Session>> of_first;
  std::thread other([&] { of_first = load(path_, first); });
  stalled_->wait_until_entered();

  const auto meanwhile = load(path_, second);

  ASSERT_TRUE(support::fails_with(meanwhile, ErrorCode::kOperationNotPermitted));
  EXPECT_THAT(meanwhile.error().message, ::testing::HasSubstr("the signal serves another load already"));
  EXPECT_TRUE(support::fails_with(signal.reset(), ErrorCode::kOperationNotPermitted));
  EXPECT_TRUE(support::fails_with(signal.set_timeout(1s), ErrorCode::kOperationNotPermitted));
  EXPECT_TRUE(signal.in_use()) << "asking leaves the first load its signal";
  stalled_->open_gate();
  other.join();
  EXPECT_TRUE(support::is_ok(*of_first));
  EXPECT_TRUE(support::is_ok(load(path_, second))) << "a load that ended leaves the signal as it was";
  signal.cancel();
  EXPECT_TRUE(support::fails_with(load(path_, second), ErrorCode::kCancelled)) << "a cancel stays";
  EXPECT_TRUE(support::is_ok(signal.reset()));
  EXPECT_TRUE(support::is_ok(load(path_, second)));
  EXPECT_TRUE(support::fails_with(signal.set_timeout(-1ms), ErrorCode::kInvalidArgument));
  of_first.reset();
}

// An allocator that cancels the load as soon as a record is copied, and counts what happens to its memory.
class AbortingAllocator final : public ViewAllocator {
 public:
  explicit AbortingAllocator(LoadSignal signal) : signal_(std::move(signal)) {}
  std::string_view name() const noexcept override { return "aborting"; }
  Result<Block> allocate(std::uint64_t size_bytes, std::uint64_t alignment) override {
    signal_.cancel();
    std::this_thread::sleep_for(50ms);  // so that the caller has left the load
    return Block{
        .data = static_cast<std::byte*>(support::aligned_memory(alignment, (size_bytes / alignment + 1) * alignment)),
        .size_bytes = size_bytes};
  }
  Status filled(const Block&) override {
    ++filled_blocks;
    return Done{};
  }
  void release(const Block& block) noexcept override {
    support::free_aligned(block.data);
    ++released;
  }
  std::atomic<int> filled_blocks{0};
  std::atomic<int> released{0};

 private:
  LoadSignal signal_;
};

TEST_F(LoadThreads, AThreadThatNobodyWaitsForEndsAtTheNextStep) {
  LoadSignal signal;
  const auto allocator = std::make_shared<AbortingAllocator>(signal);
  LoadOptions options = for_aarch64();
  options.model.signal = signal;
  options.model.open.allocator = allocator;

  EXPECT_TRUE(support::fails_with(load(path_, options), ErrorCode::kCancelled));

  for (int i = 0; i < 2000 && allocator->released == 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(allocator->released, 1);
  EXPECT_EQ(allocator->filled_blocks, 0) << "the copy was not finished";
}

TEST_F(LoadThreads, BorrowedBytesAreLetGoBeforeTheLoadReturns) {
  const support::Bytes file = support::read_file(path_);
  LoadSignal signal;
  const auto allocator = std::make_shared<AbortingAllocator>(signal);
  LoadOptions options = for_aarch64();
  options.model.signal = signal;
  options.model.open.allocator = allocator;

  EXPECT_TRUE(support::fails_with(load(Source::of_memory(file), options), ErrorCode::kCancelled));

  EXPECT_EQ(allocator->released, 1) << "whoever read them has ended";
}

TEST_F(LoadThreads, ProgressIsToldEvery25MillisecondsAndTheLoadGoesOn) {
  LoadOptions options = on_stalled_system();
  int told = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_LE(done, total);
    if (++told == 3) stalled_->open_gate();
  };
  const Clock::time_point before = Clock::now();

  const auto loaded = load(path_, options);

  ASSERT_TRUE(support::is_ok(loaded));
  EXPECT_GE(told, 3);
  EXPECT_GE(Clock::now() - before, 75ms) << "it is not told again and again in between";
}

TEST_F(LoadThreads, ProgressMayCancelItsOwnLoad) {
  LoadOptions options = on_stalled_system();
  LoadSignal signal;
  options.model.signal = signal;
  options.progress = [&](std::uint64_t, std::uint64_t) { signal.cancel(); };

  EXPECT_TRUE(support::fails_with(load(path_, options), ErrorCode::kCancelled));
}

TEST_F(LoadThreads, AForkInProgressLeavesTheLoadToTheParent) {
  LoadOptions options = on_stalled_system();
  std::optional<pid_t> child;
  options.progress = [&](std::uint64_t, std::uint64_t) {
    if (child == 0) ::_exit(2);  // nobody loads there
    if (!child) child = ::fork();
    if (child != 0) stalled_->open_gate();
  };

  const auto loaded = load(path_, options);
  if (child == 0) ::_exit(!loaded.ok() && loaded.error().code == ErrorCode::kCancelled ? 0 : 1);

  EXPECT_TRUE(support::is_ok(loaded));
  ASSERT_TRUE(child);
  int status = -1;
  ASSERT_EQ(::waitpid(*child, &status, 0), *child);
  EXPECT_EQ(status, 0);
}

TEST_F(LoadThreads, WhatProgressThrowsComesOutOfTheCallAndStopsTheLoad) {
  LoadOptions options = on_stalled_system();
  const std::thread::id here = std::this_thread::get_id();
  options.progress = [&](std::uint64_t, std::uint64_t) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    throw std::runtime_error("enough");
  };

  EXPECT_THROW((void)load(path_, options), std::runtime_error);
  options.progress = {};
  options.model.open.mapping_provider = nullptr;
  options.notify = [](const LoadEvent&) { throw std::runtime_error("no more"); };
  EXPECT_THROW((void)load(path_, options), std::runtime_error);
}

// Lists.

TEST_F(LoadThreads, AListWithOneThreadTellsInListOrderAndAFailureStopsNobody) {
  std::vector<std::pair<std::size_t, bool>> told;
  std::vector<LoadItem> items;
  for (const char* name : {"m.fatctx", "missing", "m.fatctx"}) {
    items.push_back({.source = folder_ / name,
                     .options = for_aarch64(),
                     .finished = [&](auto index, const auto& result) { told.emplace_back(index, result.ok()); }});
  }

  auto list = load_all(std::move(items), {.threads = 1});

  ASSERT_TRUE(support::is_ok(list));
  ASSERT_TRUE(support::is_ok(list.value().wait()));
  EXPECT_EQ(told, (std::vector<std::pair<std::size_t, bool>>{{0, true}, {1, false}, {2, true}}));
  EXPECT_EQ(list.value().finished_count(), 3U);
  EXPECT_TRUE(support::is_ok(list.value().result(2)));
  EXPECT_TRUE(support::fails_with(list.value().result(1), ErrorCode::kNotFound));
  EXPECT_TRUE(support::fails_with(list.value().result(3), ErrorCode::kNotFound));
  const RecordView first = list.value().result(0).value().binary().value();
  const RecordView last = list.value().result(2).value().binary().value();
  EXPECT_EQ(first.data(), last.data()) << "items of one file meet in one mapping";
}

TEST_F(LoadThreads, AnItemThatStallsKeepsNobodyFromFinishingAndIsCancelledWithTheList) {
  std::atomic<int> at_a_time = 0;
  std::atomic<int> finished = 0;
  const auto count = [&](std::size_t, const Result<Session>&) {
    EXPECT_EQ(++at_a_time, 1) << "callbacks come one at a time";
    std::this_thread::sleep_for(1ms);
    --at_a_time;
    ++finished;
  };
  std::vector<LoadItem> items;
  items.push_back({.source = path_, .options = on_stalled_system(), .finished = count});
  for (int i = 0; i < 20; ++i) items.push_back({.source = path_, .options = for_aarch64(), .finished = count});

  auto list = load_all(std::move(items), {.threads = 4});
  ASSERT_TRUE(support::is_ok(list));
  for (int i = 0; i < 2000 && finished < 20; ++i) std::this_thread::sleep_for(10ms);

  EXPECT_EQ(finished, 20);
  EXPECT_TRUE(support::fails_with(list.value().result(0), ErrorCode::kOperationNotPermitted)) << "it is going on";
  const Clock::time_point before = Clock::now();
  list.value().cancel();
  ASSERT_TRUE(support::is_ok(list.value().wait()));
  EXPECT_LT(Clock::now() - before, 100ms);
  EXPECT_TRUE(support::fails_with(list.value().result(0), ErrorCode::kCancelled));
}

TEST_F(LoadThreads, DestroyingAListCancelsItAndNoCallbackComesAfterwards) {
  std::atomic<int> told = 0;
  {
    std::vector<LoadItem> items;
    for (int i = 0; i < 5; ++i) {
      items.push_back({.source = path_, .options = on_stalled_system(), .finished = [&](auto, const auto& result) {
                         EXPECT_TRUE(support::fails_with(result, ErrorCode::kCancelled));
                         ++told;
                       }});
    }
    const auto list = load_all(std::move(items), {.threads = 2});
    ASSERT_TRUE(support::is_ok(list));
    stalled_->wait_until_entered();
  }
  EXPECT_EQ(told, 5) << "each item was told of";
}

TEST_F(LoadThreads, ACallbackMayDropItsListAndIsNotAllowedToWaitForIt) {
  std::mutex mutex;
  std::condition_variable changed;
  int told = 0;
  std::optional<LoadList> list;
  std::vector<LoadItem> items;
  for (int i = 0; i < 3; ++i) {
    items.push_back({.source = path_, .options = for_aarch64(), .finished = [&](std::size_t index, const auto&) {
                       std::unique_lock lock(mutex);
                       changed.wait(lock, [&] { return list.has_value() || index != 0; });
                       if (index == 0) {
                         EXPECT_TRUE(support::fails_with(list->wait(), ErrorCode::kOperationNotPermitted));
                         list.reset();
                       }
                       ++told;
                       changed.notify_all();
                     }});
  }

  {
    auto started = load_all(std::move(items), {.threads = 1});
    ASSERT_TRUE(support::is_ok(started));
    const std::lock_guard lock(mutex);
    list = std::move(started).value();
    changed.notify_all();
  }

  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, 20s, [&] { return told == 3; })) << "what is left is told of as cancelled";
}

TEST_F(LoadThreads, AnEmptyListIsFinished) {
  auto list = load_all({});

  ASSERT_TRUE(support::is_ok(list));
  EXPECT_TRUE(support::is_ok(list.value().wait()));
  EXPECT_EQ(list.value().size(), 0U);
}

}  // namespace load_threads_test
}  // namespace fatctx
