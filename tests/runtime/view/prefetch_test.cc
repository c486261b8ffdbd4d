// Prefetch of exactly the chosen record. Shows S5.7.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <new>
#include <thread>

#include "fatctx/metrics.h"
#include "runtime/large_model.h"
#include "runtime/view/prefetch.h"
#include "support/child_process.h"
#include "support/mapped_file.h"

namespace fatctx {
namespace prefetch_test {

using testing::kLargeBinarySize;
using testing::kLargeWeightsSize;
using testing::kMiB;

class PrefetchOfALargeModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<testing::Folder>();
    testing::pack_large_model(*folder_ / "packed");
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    std::filesystem::copy_file(*folder_ / "packed", path_, std::filesystem::copy_options::overwrite_existing);
    support::drop_from_cache(path_);
    auto opened = Container::open(path_, testing::unverified());
    ASSERT_TRUE(opened.ok()) << to_text(opened.error());
    container_ = std::move(opened).value();
    weights_ = container_->find("weights").value().id;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  [[nodiscard]] std::uint64_t resident(std::string_view name) const {
    for (const RecordMetrics& record : container_metrics(*container_).records) {
      if (record.name == name) return record.resident_bytes.value();
    }
    return 0;
  }

  static inline std::unique_ptr<testing::Folder> folder_;
  std::string path_ = *folder_ / "m.fatctx";
  std::optional<Container> container_;
  std::uint32_t weights_ = 0;
};

TEST_F(PrefetchOfALargeModel, BringsInExactlyTheRecord) {
  const auto report = container_->prefetch(weights_);

  ASSERT_TRUE(report.ok()) << to_text(report.error());
  EXPECT_EQ(report.value().asked_bytes, kLargeWeightsSize);
  EXPECT_EQ(report.value().done_bytes, kLargeWeightsSize);
  EXPECT_EQ(report.value().method, PrefetchMethod::kPopulate);
  EXPECT_FALSE(report.value().cancelled);
  EXPECT_EQ(resident("weights"), kLargeWeightsSize);
  // At most a page of the neighbor: the system maps what it has read around the record.
  EXPECT_LE(resident("large.x86-64-v2"), 2 * kMiB);
}

TEST_F(PrefetchOfALargeModel, StaysWithinItsBudgetAndSaysWhatIsDone) {
  const auto report = container_->prefetch(weights_, {.max_bytes = 5 * kMiB});

  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().asked_bytes, kLargeWeightsSize);
  EXPECT_EQ(report.value().done_bytes, 5 * kMiB);
  EXPECT_GE(resident("weights"), 5 * kMiB);
  EXPECT_LE(resident("weights"), 12 * kMiB) << "large pages reach beyond the budget, but not to the end";

  const auto nothing = container_->prefetch(weights_, {.max_bytes = 0});

  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing.value().done_bytes, 0U);
  EXPECT_EQ(nothing.value().method, PrefetchMethod::kNone);
}

TEST_F(PrefetchOfALargeModel, GoesInBoundedStepsThatCanBeCancelled) {
  std::vector<std::uint64_t> steps;
  std::atomic<bool> cancel = false;
  PrefetchOptions options;
  options.cancel = &cancel;
  options.progress = [&](std::uint64_t done, std::uint64_t asked) {
    EXPECT_EQ(asked, kLargeWeightsSize);
    steps.push_back(done);
    cancel = steps.size() == 3;
  };

  const auto report = container_->prefetch(weights_, options);

  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report.value().cancelled);
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{4 * kMiB, 8 * kMiB, 12 * kMiB}));
  EXPECT_EQ(report.value().done_bytes, 12 * kMiB);
}

TEST_F(PrefetchOfALargeModel, OfARecordThatIsNotThereOrHasNoViewIsAnError) {
  EXPECT_EQ(container_->prefetch(99).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(container_->prefetch_in_background(99).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(container_->release(99).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(container_->lock(99).error().code, ErrorCode::kNotFound);
}

// Promise: an error, never a signal.
TEST_F(PrefetchOfALargeModel, OfAFileThatWasCutIsChanged) {
  std::filesystem::resize_file(path_, container_->record(weights_).value().file_offset + 4096);

  const auto report = container_->prefetch(weights_);

  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kChanged);
  EXPECT_NE(report.error().message.find(path_), std::string::npos);
}

// The cut is between the check of the file and the read of a page, so the system's own error counts.
TEST_F(PrefetchOfALargeModel, OfAFileThatIsCutMeanwhileNamesRecordAndOffset) {
  const std::uint64_t start = container_->record(weights_).value().file_offset;
  PrefetchOptions options;
  options.progress = [&](std::uint64_t, std::uint64_t) { std::filesystem::resize_file(path_, start + 6 * kMiB); };

  const auto report = container_->prefetch(weights_, options);

  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kChanged);
  EXPECT_EQ(report.error().where.record_id, weights_);
  EXPECT_EQ(report.error().where.file_offset, start + 6 * kMiB);
}

TEST_F(PrefetchOfALargeModel, OfASessionIsThatOfItsRecordsWithOneBudget) {
  const Model model = Model::choose(*container_, {.device = testing::cpu("x86-64-v3")}).value();
  const Session session = model.begin_session().value();
  std::uint64_t last = 0;
  PrefetchOptions options{.max_bytes = kLargeBinarySize + kMiB};
  options.progress = [&](std::uint64_t done, std::uint64_t asked) {
    EXPECT_GT(done, last);
    EXPECT_EQ(asked, kLargeBinarySize + kLargeWeightsSize);
    last = done;
  };

  const auto some = session.prefetch(options);
  const auto all = session.prefetch();

  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some.value().done_bytes, kLargeBinarySize + kMiB);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all.value().done_bytes, kLargeBinarySize + kLargeWeightsSize);
  EXPECT_EQ(resident("large.x86-64-v3"), kLargeBinarySize);
  EXPECT_EQ(resident("weights"), kLargeWeightsSize);
}

TEST_F(PrefetchOfALargeModel, DoesNothingWhereViewsAreCopies) {
  OpenOptions options = testing::unverified();
  options.file_mapping = FileMapping::kDisabled;
  const Container copied = Container::open(path_, options).value();

  const auto report = copied.prefetch(weights_);

  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().method, PrefetchMethod::kNone);
  EXPECT_EQ(report.value().done_bytes, 0U);
  EXPECT_EQ(copied.release(weights_).value().released_bytes, 0U);
}

TEST_F(PrefetchOfALargeModel, WorksForABufferThatIsAMapOfTheCallers) {
  const auto file = mapping::open_for_reading(path_).value();
  const auto region = mapping::map_file(*file, file->identity().value().size).value();
  const Container inside = Container::open(Source::of_memory(region->bytes()), testing::unverified()).value();

  const auto report = inside.prefetch(weights_);

  ASSERT_TRUE(report.ok()) << to_text(report.error());
  EXPECT_EQ(report.value().done_bytes, kLargeWeightsSize);
  EXPECT_EQ(inside.release(weights_).value().released_bytes, 0U) << "the caller's memory may be of any kind";
}

TEST_F(PrefetchOfALargeModel, InTheBackgroundGivesTheSameReport) {
  auto handle = container_->prefetch_in_background(weights_);
  ASSERT_TRUE(handle.ok()) << to_text(handle.error());

  const auto report = handle.value().wait();

  ASSERT_TRUE(report.ok()) << to_text(report.error());
  EXPECT_EQ(report.value().done_bytes, kLargeWeightsSize);
  EXPECT_TRUE(handle.value().done());
  EXPECT_EQ(handle.value().done_bytes(), kLargeWeightsSize);
  EXPECT_EQ(handle.value().wait().value().done_bytes, kLargeWeightsSize) << "it may be asked again";
  EXPECT_EQ(resident("weights"), kLargeWeightsSize);
}

TEST_F(PrefetchOfALargeModel, InTheBackgroundReportsErrorsToWhoWaits) {
  PrefetchOptions options;
  options.progress = [&](std::uint64_t, std::uint64_t) { std::filesystem::resize_file(path_, 4096); };
  auto handle = container_->prefetch_in_background(weights_, options);
  ASSERT_TRUE(handle.ok());

  const auto report = handle.value().wait();

  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kChanged);
}

TEST_F(PrefetchOfALargeModel, InTheBackgroundIsCancelledAtTheNextStep) {
  std::promise<void> begun;
  std::promise<void> cancelled;
  PrefetchOptions options;
  options.progress = [&](std::uint64_t, std::uint64_t) {
    begun.set_value();
    cancelled.get_future().wait();
  };
  PrefetchHandle handle = container_->prefetch_in_background(weights_, options).value();
  begun.get_future().wait();
  handle.cancel();
  cancelled.set_value();

  const auto report = handle.wait();

  ASSERT_TRUE(report.ok()) << to_text(report.error());
  EXPECT_TRUE(report.value().cancelled);
  EXPECT_EQ(report.value().done_bytes, 4 * kMiB);
}

TEST_F(PrefetchOfALargeModel, InTheBackgroundKeepsTheMappingUntilItsHandleGoes) {
  auto handle = container_->prefetch_in_background(weights_);
  ASSERT_TRUE(handle.ok());
  container_.reset();

  ASSERT_TRUE(handle.value().wait().ok());

  EXPECT_EQ(testing::mappings_of(path_), 1);
  { const PrefetchHandle gone = std::move(handle).value(); }
  EXPECT_EQ(testing::mappings_of(path_), 0);
}

TEST_F(PrefetchOfALargeModel, InTheBackgroundIsLeftBehindByAFork) {
  std::atomic<bool> go_on = false;
  std::atomic<bool> begun = false;
  PrefetchOptions options;
  options.progress = [&](std::uint64_t, std::uint64_t) {
    begun = true;
    while (!go_on) ::usleep(1000);
  };
  std::optional<PrefetchHandle> handle = container_->prefetch_in_background(weights_, options).value();
  while (!begun) ::usleep(1000);

  const int result = support::in_child([&] {
    ::alarm(20);  // it would wait for ever
    const auto report = handle->wait();
    if (report.ok() || report.error().code != ErrorCode::kCancelled) return 1;
    handle.reset();
    container_.reset();
    if (testing::mappings_of(path_) != 0) return 2;
    const auto again = Container::open(path_, testing::unverified());
    if (!again.ok() || !again.value().prefetch(weights_).ok()) return 3;
    return 0;
  });
  go_on = true;

  EXPECT_EQ(result, 0);
  EXPECT_EQ(handle->wait().value().done_bytes, kLargeWeightsSize);
}

TEST(PrefetchThread, WithoutMemoryGivesAnErrorToWhoWaits) {
  auto handle = start_prefetch([](const auto&, auto&) -> Result<PrefetchReport> { throw std::bad_alloc(); }).value();
  EXPECT_EQ(handle.wait().error().code, ErrorCode::kOutOfMemory);
  EXPECT_TRUE(handle.done());
}

TEST(PrefetchThread, IsCancelledWhenItsHandleGetsAnotherOne) {
  std::atomic<bool> cancelled = false;
  PrefetchHandle handle = start_prefetch([&](const std::atomic<bool>& cancel, auto&) -> Result<PrefetchReport> {
                            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
                            while (!cancel && std::chrono::steady_clock::now() < end) std::this_thread::yield();
                            cancelled = cancel.load();
                            return PrefetchReport{};
                          }).value();

  handle = start_prefetch([](const auto&, auto&) -> Result<PrefetchReport> {
             return PrefetchReport{.done_bytes = 7};
           }).value();

  EXPECT_TRUE(cancelled);
  EXPECT_EQ(handle.wait().value().done_bytes, 7U);
}

}  // namespace prefetch_test
}  // namespace fatctx
