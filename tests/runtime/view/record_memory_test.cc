// Releasing records, keeping them, and the metrics meanwhile.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "fatctx/metrics.h"
#include "runtime/large_model.h"
#include "runtime/open/registry.h"
#include "support/child_process.h"
#include "support/mapped_file.h"
#include "support/opened.h"

namespace fatctx {
namespace record_memory_test {

using testing::kLargeBinarySize;
using testing::kLargeWeightsSize;

RecordMetrics of(const Container& container, std::string_view name) {
  for (RecordMetrics& record : container_metrics(container).records) {
    if (record.name == name) return record;
  }
  return {};
}

class RecordMemory : public ::testing::Test {
 protected:
  void SetUp() override { testing::pack_large_model(path_); }
  [[nodiscard]] Container open(const OpenOptions& options = testing::unverified()) const {
    return Container::open(path_, options).value();
  }
  const testing::Folder folder_;
  const std::string path_ = folder_ / "m.fatctx";
};

TEST_F(RecordMemory, AReleasedRecordLeavesMemoryAndItsViewComesBackFromTheFile) {
  const Container container = open();
  const RecordView weights = container.acquire("weights").value();
  const RecordView binary = container.acquire("large.x86-64-v3").value();
  (void)support::touch(weights.bytes());
  (void)support::touch(binary.bytes());
  ASSERT_EQ(of(container, "weights").resident_bytes, kLargeWeightsSize);

  const auto report = container.release(weights.record_id());

  ASSERT_TRUE(report.ok()) << to_text(report.error());
  EXPECT_EQ(report.value().asked_bytes, kLargeWeightsSize);
  EXPECT_EQ(report.value().released_bytes, kLargeWeightsSize / mapping::page_size() * mapping::page_size());
  EXPECT_LT(of(container, "weights").resident_bytes.value(), mapping::page_size());
  EXPECT_EQ(of(container, "large.x86-64-v3").resident_bytes, kLargeBinarySize) << "its neighbour stays";
  EXPECT_TRUE(std::ranges::equal(weights.bytes(), testing::large_pattern(kLargeWeightsSize, 1)));
}

TEST_F(RecordMemory, AReleaseLetsTheSystemForgetTheRecordOrKeepIt) {
  support::drop_from_cache(path_);  // dirty pages cannot be dropped
  if (support::cached_bytes(path_) != 0) GTEST_SKIP() << "this filesystem keeps its files in memory";
  const Container container = open();
  const RecordView weights = container.acquire("weights").value();
  (void)support::touch(weights.bytes());

  ASSERT_TRUE(container.release(weights.record_id(), {.keep_cached = true}).ok());
  EXPECT_LT(of(container, "weights").resident_bytes.value(), mapping::page_size());
  EXPECT_GE(support::cached_bytes(path_), kLargeWeightsSize);

  ASSERT_TRUE(container.release(weights.record_id()).ok());
  EXPECT_LT(support::cached_bytes(path_), kLargeWeightsSize / 2);
}

TEST_F(RecordMemory, SmallRecordsThatShareAPageAreNotReleased) {
  const std::string path = folder_ / "small.fatctx";
  testing::pack_small_model(path);
  const Container container = Container::open(path, testing::unverified()).value();
  const RecordInfo description = container.find("description").value();
  const RecordView view = container.acquire(description.id).value();
  (void)support::touch(view.bytes());

  const auto report = container.release(description.id);

  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().asked_bytes, description.size_bytes);
  EXPECT_EQ(report.value().released_bytes, 0U);
}

TEST_F(RecordMemory, ASessionReleasesItsRecordsAndOtherSessionsKeepTheirs) {
  const Model model = Model::open(path_, {.open = testing::unverified(), .device = testing::cpu("x86-64-v3")}).value();
  const Session uploaded = model.begin_session().value();
  const Session other = model.begin_session().value();
  ASSERT_TRUE(uploaded.prefetch().ok());

  const auto report = uploaded.release();

  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().asked_bytes, kLargeWeightsSize + kLargeBinarySize);
  EXPECT_LT(container_metrics(*model.container()).resident_bytes.value(), testing::kMiB);
  EXPECT_TRUE(std::ranges::equal(other.weights()[0].view.bytes(), testing::large_pattern(kLargeWeightsSize, 1)));
}

TEST_F(RecordMemory, ALockedRecordStaysUntilTheLastLockGoes) {
  if (!support::locking_works()) GTEST_SKIP() << "pages cannot be locked here";
  const Container container = open();
  const std::uint32_t id = container.find("large.x86-64-v2").value().id;
  auto first = container.lock(id);
  ASSERT_TRUE(first.ok()) << to_text(first.error());
  std::optional<RecordLock> second = container.lock(id).value();
  EXPECT_EQ(second->size_bytes(), kLargeBinarySize);

  EXPECT_EQ(container_metrics(container).locked_bytes, kLargeBinarySize);
  EXPECT_EQ(container.release(id).error().code, ErrorCode::kOperationNotPermitted);
  { const RecordLock gone = std::move(first).value(); }
  EXPECT_EQ(container_metrics(container).locked_bytes, kLargeBinarySize);
  second.reset();
  EXPECT_EQ(container_metrics(container).locked_bytes, 0U);
  EXPECT_TRUE(container.release(id).ok());
}

TEST_F(RecordMemory, ALockKeepsTheMapping) {
  if (!support::locking_works()) GTEST_SKIP() << "pages cannot be locked here";
  std::optional<RecordLock> lock;
  {
    auto locked = open().lock(1);
    ASSERT_TRUE(locked.ok()) << to_text(locked.error());
    lock = std::move(locked).value();
  }
  EXPECT_EQ(testing::mappings_of(path_), 3) << "one map; a lock splits it where the locked pages begin and end";
  lock.reset();
  EXPECT_EQ(testing::mappings_of(path_), 0);
}

TEST_F(RecordMemory, ALockThatTheSystemRefusesNamesTheLimitAndTheRecord) {
  if (!support::locking_works()) GTEST_SKIP() << "pages cannot be locked here";
  const Container container = open();
  const int result = support::in_child([&] {
    const rlimit limit{65'536, 65'536};
    if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return support::kChildSkipped;
    if (::geteuid() == 0 && (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0)) {
      return support::kChildSkipped;
    }
    const auto refused = container.lock(1);
    if (refused.ok() || refused.error().code != ErrorCode::kNoResource) return 1;
    if (refused.error().message.find("RLIMIT_MEMLOCK") == std::string::npos) return 2;
    if (refused.error().message.find("65536") == std::string::npos) return 3;
    if (refused.error().where.record_id != 1U) return 4;
    return container_metrics(container).locked_bytes == 0U ? 0 : 5;
  });
  if (result == support::kChildSkipped) GTEST_SKIP() << "the limit cannot be lowered here";
  EXPECT_EQ(result, 0);
}

TEST_F(RecordMemory, MetricsCountViewsAndSessionsAndWhatSharingSaves) {
  const Model model = Model::open(path_, {.device = testing::cpu("x86-64-v3")}).value();
  const Container& container = *model.container();
  EXPECT_EQ(container_metrics(container).views, 0U);
  {
    const Session one = model.begin_session().value();
    EXPECT_EQ(container_metrics(container).saved_bytes, 0U) << "the first session holds what it must";
    const Session two = model.begin_session().value();
    const Session copy_of_two = two;
    const Session three = model.begin_session().value();
    const RecordView view = container.acquire("weights").value();
    const RecordView copy_of_view = view;

    const ContainerMetrics metrics = container_metrics(container);

    EXPECT_EQ(metrics.sessions, 3U);
    EXPECT_EQ(metrics.views, 7U);
    EXPECT_EQ(metrics.saved_bytes, 2 * (kLargeWeightsSize + kLargeBinarySize));
    EXPECT_EQ(of(container, "weights").views, 4U);
    EXPECT_EQ(of(container, "weights").sessions, 3U);
    EXPECT_EQ(of(container, "large.x86-64-v3").views, 3U);
    EXPECT_EQ(of(container, "large.x86-64-v2").views, 0U);
  }
  EXPECT_EQ(container_metrics(container).views, 0U);
  EXPECT_EQ(container_metrics(container).sessions, 0U);
  EXPECT_EQ(container_metrics(container).saved_bytes, 0U);
}

TEST_F(RecordMemory, MetricsCountSharedCopiesLikeViews) {
  OpenOptions options;
  options.file_mapping = FileMapping::kDisabled;
  const Model model = Model::open(path_, {.open = options, .device = testing::cpu("x86-64-v3")}).value();
  const Session one = model.begin_session().value();
  const Session two = model.begin_session().value();

  const ContainerMetrics metrics = container_metrics(*model.container());

  EXPECT_EQ(metrics.mapped_bytes, 0U);
  EXPECT_FALSE(metrics.resident_bytes.has_value());
  EXPECT_EQ(metrics.views, 4U);
  EXPECT_EQ(metrics.saved_bytes, kLargeWeightsSize + kLargeBinarySize);
}

TEST_F(RecordMemory, MetricsKnowWhatWasVerified) {
  const std::string path = folder_ / "small.fatctx";
  testing::pack_small_model(path);
  const RecordInfo weights = Container::open(path).value().find("weights").value();
  testing::flip_byte(path, weights.file_offset + 70'000);
  const Container container = Container::open(path).value();
  EXPECT_EQ(of(container, "weights").verification, RecordState::kUnknown);

  EXPECT_TRUE(container.acquire("small.x86-64-v3").ok());
  EXPECT_FALSE(container.acquire("weights").ok());

  EXPECT_EQ(of(container, "small.x86-64-v3").verification, RecordState::kOk);
  EXPECT_EQ(of(container, "weights").verification, RecordState::kBad);
  EXPECT_EQ(of(container, "small.x86-64-v2").verification, RecordState::kUnknown);

  testing::flip_byte(path, weights.file_offset + 70'000);  // restored, so nothing is known yet after a new look
  EXPECT_TRUE(container.acquire("small.x86-64-v2").ok());
  EXPECT_EQ(of(container, "weights").verification, RecordState::kUnknown);
  EXPECT_TRUE(container.acquire("weights").ok());
  EXPECT_EQ(of(container, "weights").verification, RecordState::kOk);
}

TEST_F(RecordMemory, MetricsTouchNothing) {
  const Container container = open();

  const ContainerMetrics metrics = container_metrics(container);

  EXPECT_EQ(metrics.resident_bytes, 0U);
  EXPECT_EQ(metrics.mapped_bytes, support::report_of(container).committed_end);
  EXPECT_EQ(container_metrics(container).resident_bytes, 0U);
}

TEST_F(RecordMemory, MetricsOfTheProcessAddUpItsFiles) {
  const std::string small = folder_ / "small.fatctx";
  testing::pack_small_model(small);
  const RuntimeMetrics before = runtime_metrics();
  const Model model = Model::open(path_, {.device = testing::cpu("x86-64-v3")}).value();
  const Container other = Container::open(small).value();
  const Container again = Container::open(small).value();
  const Session one = model.begin_session().value();
  const Session two = model.begin_session().value();

  const RuntimeMetrics metrics = runtime_metrics();

  EXPECT_EQ(metrics.live_mappings, before.live_mappings + 2);
  EXPECT_EQ(metrics.sessions, before.sessions + 2);
  EXPECT_EQ(metrics.saved_bytes, before.saved_bytes + kLargeWeightsSize + kLargeBinarySize);
  EXPECT_EQ(metrics.mapped_bytes, before.mapped_bytes + support::report_of(*model.container()).committed_end +
                                      support::report_of(other).committed_end);
}

TEST_F(RecordMemory, MetricsAreJsonWithNullForWhatIsNotKnown) {
  OpenOptions options;
  options.file_mapping = FileMapping::kDisabled;
  const Container copied = Container::open(path_, options).value();

  const auto json = nlohmann::json::parse(to_json(container_metrics(copied)));
  const auto process = nlohmann::json::parse(to_json(runtime_metrics()));

  EXPECT_EQ(json.at("schema"), "fatctx.metrics/1");
  EXPECT_EQ(json.at("container").at("path"), path_);
  EXPECT_TRUE(json.at("container").at("resident_bytes").is_null());
  EXPECT_EQ(json.at("container").at("records").at(0).at("verification"), "unknown");
  EXPECT_EQ(json.at("container").at("records").size(), support::records_in(copied).size());
  EXPECT_GE(process.at("runtime").at("containers").size(), 1U);
}

}  // namespace record_memory_test
}  // namespace fatctx
