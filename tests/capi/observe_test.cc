// Memory of records, metrics, profile, trace and cold records through C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <thread>

#include "capi/c_model.h"
#include "support/mapped_file.h"

namespace fatctx::capi::testing {
namespace observe_test {

using ::testing::Contains;
using ::testing::HasSubstr;

class CObserve : public CModel {
 protected:
  void TearDown() override {
    EXPECT_EQ(fatctx_trace_stop(&error), FATCTX_OK);
    auto off = sized<fatctx_profile_options>();
    EXPECT_EQ(fatctx_profile_start(&off, &error), FATCTX_OK);
  }
  // Opens a container with a record of several prefetch steps and a record stored as a frame.
  [[nodiscard]] fatctx_container open_large() {
    const std::string file = folder.file("large.fatctx");
    auto error_of_pack = fresh_error();
    fatctx_packer packer = {};
    EXPECT_EQ(fatctx_packer_create(nullptr, &packer, &error_of_pack), FATCTX_OK);
    auto record = sized<fatctx_pack_record>();
    fatctx_pack_record_init(&record, sizeof record);
    record.name = "large";
    record.bytes = large.data();
    record.size = large.size();
    EXPECT_EQ(fatctx_packer_add(packer, &record, &error_of_pack), FATCTX_OK) << text_of(error_of_pack);
    record.type = FATCTX_RECORD_SOURCE_MODEL;
    record.name = "source";
    record.bytes = source.data();
    record.size = source.size();
    record.codec = FATCTX_CODEC_LZ4;
    EXPECT_EQ(fatctx_packer_add(packer, &record, &error_of_pack), FATCTX_OK) << text_of(error_of_pack);
    EXPECT_EQ(fatctx_packer_publish(packer, file.c_str(), nullptr, &error_of_pack), FATCTX_OK);
    EXPECT_EQ(fatctx_packer_close(packer, &error_of_pack), FATCTX_OK);
    fatctx_container container = {};
    EXPECT_EQ(fatctx_container_open(file.c_str(), nullptr, &container, &error), FATCTX_OK) << text_of(error);
    return container;
  }
  [[nodiscard]] std::uint32_t id_of(fatctx_container container, const char* name) {
    auto record = sized<fatctx_record_info>();
    EXPECT_EQ(fatctx_container_find(container, name, &record, &error), FATCTX_OK) << text_of(error);
    return record.id;
  }

  Bytes large = support::pattern(std::size_t{9} << 20, 3);
  std::string source = std::string(100'000, 'n') + "the end";
};

TEST_F(CObserve, APrefetchReportsItsWorkAndACallbackMayStopIt) {
  const fatctx_container container = open_large();
  const std::uint32_t id = id_of(container, "large");
  auto report = sized<fatctx_prefetch_report>();
  ASSERT_EQ(fatctx_container_prefetch(container, id, nullptr, &report, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(report.done_bytes, large.size());
  EXPECT_EQ(report.asked_bytes, large.size());
  EXPECT_EQ(report.cancelled, 0U);

  auto options = sized<fatctx_prefetch_options>();
  fatctx_prefetch_options_init(&options, sizeof options);
  EXPECT_EQ(options.max_bytes, UINT64_MAX);
  options.max_bytes = 4'096;
  ASSERT_EQ(fatctx_container_prefetch(container, id, &options, &report, &error), FATCTX_OK);
  EXPECT_LE(report.done_bytes, 4'096U);
  options.max_bytes = UINT64_MAX;
  int calls = 0;
  options.user = &calls;
  options.progress = [](void* user, std::uint64_t, std::uint64_t) -> std::int32_t {
    return ++*static_cast<int*>(user);
  };
  EXPECT_EQ(fatctx_container_prefetch(container, id, &options, &report, &error), FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(report.cancelled, 1U);
  EXPECT_GT(report.done_bytes, 0U);
  EXPECT_LT(report.done_bytes, large.size());
  EXPECT_EQ(fatctx_container_prefetch(container, 99, nullptr, &report, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CObserve, ABackgroundPrefetchIsWaitedForByManyAndOutlivesItsContainer) {
  const fatctx_container container = open_large();
  const std::uint32_t id = id_of(container, "large");
  fatctx_prefetch prefetch = {};
  ASSERT_EQ(fatctx_container_prefetch_in_background(container, id, nullptr, &prefetch, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto report = sized<fatctx_prefetch_report>();
      EXPECT_EQ(fatctx_prefetch_wait(prefetch, &report, nullptr), FATCTX_OK);
      EXPECT_EQ(report.done_bytes, large.size());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint32_t done = 0;
  std::uint64_t bytes = 0;
  EXPECT_EQ(fatctx_prefetch_state(prefetch, &done, &bytes, &error), FATCTX_OK);
  EXPECT_EQ(done, 1U);
  EXPECT_EQ(bytes, large.size());
  EXPECT_EQ(fatctx_prefetch_close(prefetch, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_prefetch_close(prefetch, &error), FATCTX_ERROR_STALE_HANDLE);
}

TEST_F(CObserve, ABackgroundPrefetchCannotWaitForItselfAndIsStoppedByCloseOrByItsCallback) {
  struct Own {
    std::mutex mutex;  // held until the handle is known
    fatctx_prefetch prefetch = {};
    std::int32_t waited = 0;
    std::int32_t closed = 0;
  } own;
  auto options = sized<fatctx_prefetch_options>();
  fatctx_prefetch_options_init(&options, sizeof options);
  options.user = &own;
  options.progress = [](void* user, std::uint64_t, std::uint64_t) -> std::int32_t {
    auto* self = static_cast<Own*>(user);
    const std::lock_guard lock(self->mutex);
    auto report = sized<fatctx_prefetch_report>();
    self->waited = fatctx_prefetch_wait(self->prefetch, &report, nullptr);
    self->closed = fatctx_prefetch_close(self->prefetch, nullptr);
    return 1;
  };
  const fatctx_container container = open_large();
  {
    const std::lock_guard lock(own.mutex);
    ASSERT_EQ(
        fatctx_container_prefetch_in_background(container, id_of(container, "large"), &options, &own.prefetch, &error),
        FATCTX_OK);
  }
  auto report = sized<fatctx_prefetch_report>();
  EXPECT_EQ(fatctx_prefetch_wait(own.prefetch, &report, &error), FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(report.cancelled, 1U);
  EXPECT_EQ(own.waited, FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  EXPECT_EQ(own.closed, FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  EXPECT_EQ(fatctx_prefetch_close(own.prefetch, &error), FATCTX_OK);

  fatctx_prefetch forgotten = {};
  ASSERT_EQ(fatctx_container_prefetch_in_background(container, id_of(container, "large"), nullptr, &forgotten, &error),
            FATCTX_OK);
  EXPECT_EQ(fatctx_prefetch_cancel(forgotten, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_prefetch_close(forgotten, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CObserve, ALockedRecordIsReleasedOnlyAfterTheLockIsClosed) {
  if (!support::locking_works()) GTEST_SKIP() << "pages cannot be locked here";
  const fatctx_container container = open();
  fatctx_record_lock lock = {};
  auto report = sized<fatctx_release_report>();
  ASSERT_EQ(fatctx_container_lock(container, 5, &lock, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(fatctx_container_release(container, 5, nullptr, &report, &error), FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  EXPECT_EQ(fatctx_record_lock_close(lock, &error), FATCTX_OK);
  auto options = sized<fatctx_release_options>();
  options.keep_cached = 1;
  EXPECT_EQ(fatctx_container_release(container, 5, &options, &report, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(report.asked_bytes, weights_bytes().size());
  EXPECT_GT(report.released_bytes, 0U);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CObserve, MetricsAreNumbersOfAMoment) {
  const fatctx_container container = open();
  const fatctx_model model = choose(container);
  const fatctx_session sessions[] = {begin(model), begin(model)};
  fatctx_report metrics = {};
  ASSERT_EQ(fatctx_metrics_of_container(container, &metrics, &error), FATCTX_OK) << text_of(error);
  for (const fatctx_session session : sessions) EXPECT_EQ(fatctx_session_close(session, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_model_close(model, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);

  const nlohmann::json found = json_of(metrics);
  EXPECT_EQ(found["schema"], "fatctx.metrics/1");
  const nlohmann::json& one = found["container"];
  EXPECT_EQ(one["path"], path);
  EXPECT_EQ(one["sessions"], 2);
  EXPECT_EQ(one["saved_bytes"], v3_bytes().size() + weights_bytes().size());
  ASSERT_EQ(one["records"].size(), 7U);
  EXPECT_EQ(one["records"][4]["name"], "weights");
  EXPECT_EQ(one["records"][4]["id"], 5);
  EXPECT_EQ(one["records"][4]["sessions"], 2);
  EXPECT_EQ(one["records"][4]["verification"], "ok");

  ASSERT_EQ(fatctx_metrics_of_runtime(&metrics, &error), FATCTX_OK);
  EXPECT_EQ(json_of(metrics)["runtime"]["sessions"], 0);
}

TEST_F(CObserve, AProfileKeepsEventsCallsAHookAndIsACopyOfItsMoment) {
  struct Seen {
    std::vector<std::string> acquired;
    int releases = 0;
  } seen;
  auto options = sized<fatctx_profile_options>();
  fatctx_profile_options_init(&options, sizeof options);
  EXPECT_EQ(options.level, static_cast<std::uint32_t>(FATCTX_PROFILE_BASIC));
  options.level = FATCTX_PROFILE_DETAILED;
  options.hook = [](void* user, const fatctx_profile_event* event) {
    if (event->kind == FATCTX_EVENT_ACQUIRE) {
      static_cast<Seen*>(user)->acquired.emplace_back(view_of(event->record));
    }
  };
  options.release = [](void* user) { ++static_cast<Seen*>(user)->releases; };
  options.user = &seen;
  ASSERT_EQ(fatctx_profile_start(&options, &error), FATCTX_OK) << text_of(error);
  const fatctx_container container = open();
  fatctx_view view = {};
  ASSERT_EQ(fatctx_container_acquire(container, 5, &view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_acquire(container, 99, &view, &error), FATCTX_ERROR_NOT_FOUND);
  fatctx_report profile = {};
  ASSERT_EQ(fatctx_profile_stop(&profile, &error), FATCTX_OK);
  EXPECT_EQ(seen.releases, 1);
  EXPECT_THAT(seen.acquired, Contains("weights"));
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);

  EXPECT_THAT(text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
                return fatctx_report_text(profile, FATCTX_FORMAT_CSV, buffer, capacity, size, nullptr);
              }),
              HasSubstr("start_ns,event,duration_ns"));
  const nlohmann::json found = json_of(profile);
  EXPECT_EQ(found["schema"], "fatctx.profile/1");
  EXPECT_EQ(found["level"], "detailed");
  EXPECT_EQ(found["dropped_events"], 0);
  std::uint64_t acquires = 0;
  for (const nlohmann::json& total : found["totals"]) {
    if (total["event"] != "acquire") continue;
    acquires = total["count"];
    EXPECT_EQ(total["failed"], 1);
    EXPECT_EQ(total["bytes"], weights_bytes().size());
  }
  EXPECT_EQ(acquires, 2U);
  EXPECT_EQ(found["events"].back()["ok"], false);
  EXPECT_EQ(found["events"].front()["event"], "map") << "events are in the order in which they ended";
  options.level = 3;
  EXPECT_EQ(fatctx_profile_start(&options, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(seen.releases, 1) << "not called if the start fails";
}

TEST_F(CObserve, ATraceReplaysAndTellsWhatHasChanged) {
  struct Seen {
    std::string lines;
    int releases = 0;
  } seen;
  const fatctx_trace_sink sink = [](void* user, const char* line, std::uint64_t size) {
    static_cast<Seen*>(user)->lines.append(line, static_cast<std::size_t>(size)).push_back('\n');
  };
  ASSERT_EQ(fatctx_trace_start(
                sink, [](void* user) { ++static_cast<Seen*>(user)->releases; }, &seen, &error),
            FATCTX_OK);
  const fatctx_container container = open();
  fatctx_view view = {};
  ASSERT_EQ(fatctx_container_acquire(container, 5, &view, &error), FATCTX_OK);
  const auto explain_options = [&] {
    auto options = sized<fatctx_model_options>();
    options.device = device();
    return options;
  }();
  ASSERT_EQ(fatctx_container_explain(container, &explain_options, FATCTX_FORMAT_TEXT, nullptr, 0, nullptr, &error),
            FATCTX_OK);
  ASSERT_EQ(fatctx_trace_stop(&error), FATCTX_OK);
  EXPECT_EQ(seen.releases, 1);
  EXPECT_EQ(fatctx_device_close(explain_options.device, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);

  auto report = sized<fatctx_replay_report>();
  ASSERT_EQ(fatctx_trace_replay(seen.lines.data(), seen.lines.size(), nullptr, nullptr, &report, &error), FATCTX_OK)
      << text_of(error);
  EXPECT_EQ(report.calls, 3U) << "an open, a view and a selection";
  EXPECT_EQ(report.difference_count, 0U);
  std::filesystem::remove(path);
  std::vector<std::string> differences;
  const fatctx_difference tell = [](void* user, const fatctx_replay_difference* difference) {
    EXPECT_NE(view_of(difference->gave), view_of(difference->gives));
    static_cast<std::vector<std::string>*>(user)->emplace_back(view_of(difference->call));
  };
  ASSERT_EQ(fatctx_trace_replay(seen.lines.data(), seen.lines.size(), tell, &differences, &report, &error), FATCTX_OK);
  EXPECT_EQ(differences.size(), report.difference_count);
  EXPECT_THAT(differences, Contains(HasSubstr(path)));
  EXPECT_EQ(fatctx_trace_replay("nonsense", 8, nullptr, nullptr, &report, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("line 1"));
}

TEST_F(CObserve, AColdRecordIsSmallerHasNoViewAndIsStreamedAndExtracted) {
  const fatctx_container container = open_large();
  auto record = sized<fatctx_record_info>();
  ASSERT_EQ(fatctx_container_find(container, "source", &record, &error), FATCTX_OK);
  EXPECT_EQ(record.codec, static_cast<std::uint32_t>(FATCTX_CODEC_LZ4));
  EXPECT_EQ(record.size_bytes, source.size());
  EXPECT_LT(record.stored_bytes, source.size() / 10);
  fatctx_view view = {};
  EXPECT_EQ(fatctx_container_acquire(container, record.id, &view, &error), FATCTX_ERROR_UNSUPPORTED);

  std::string streamed;
  const fatctx_sink sink = [](void* user, const void* bytes, std::uint64_t size) -> std::int32_t {
    static_cast<std::string*>(user)->append(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
    return 0;
  };
  EXPECT_EQ(fatctx_container_stream(container, record.id, sink, &streamed, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(streamed, source);
  const std::string out = folder.file("source");
  EXPECT_EQ(fatctx_container_extract(container, record.id, out.c_str(), 0, nullptr, nullptr, &error), FATCTX_OK);
  EXPECT_EQ(support::read_file(out).size(), source.size());
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);

  fatctx_packer packer = {};
  ASSERT_EQ(fatctx_packer_create(nullptr, &packer, &error), FATCTX_OK);
  auto bad = sized<fatctx_pack_record>();
  fatctx_pack_record_init(&bad, sizeof bad);
  bad.name = "bad";
  bad.codec = 2;
  EXPECT_EQ(fatctx_packer_add(packer, &bad, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("codec is 2"));
  EXPECT_EQ(fatctx_packer_close(packer, &error), FATCTX_OK);
}

TEST_F(CObserve, RecordsOnTheSameBytesAreNamed) {
  const std::string file = folder.file("same.fatctx");
  ASSERT_TRUE(support::pack({support::plain_record(RecordType::kOpaque, "a", large),
                             support::plain_record(RecordType::kOpaque, "b", large),
                             support::plain_record(RecordType::kOpaque, "c", large)},
                            file, {})
                  .ok());
  fatctx_container container = {};
  ASSERT_EQ(fatctx_container_open(file.c_str(), nullptr, &container, &error), FATCTX_OK);
  std::uint32_t ids[3] = {77, 77, 77};
  std::uint64_t count = 0;
  const std::uint32_t first = id_of(container, "a");
  EXPECT_EQ(fatctx_container_same_bytes(container, first, ids, 1, &count, &error), FATCTX_OK);
  EXPECT_EQ(count, 2U);
  EXPECT_THAT(ids, ::testing::ElementsAre(id_of(container, "b"), 77, 77)) << "no more than the capacity";
  EXPECT_EQ(fatctx_container_same_bytes(container, first, ids, 3, &count, &error), FATCTX_OK);
  EXPECT_THAT(ids, ::testing::ElementsAre(id_of(container, "b"), id_of(container, "c"), 77));
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CObserve, WhatAPartialFileLacksIsNamed) {
  const std::string file = folder.file("partial.fatctx");
  ASSERT_TRUE(support::pack({support::plain_record(RecordType::kOpaque, "a", large),
                             support::plain_record(RecordType::kOpaque, "b", support::pattern(100'000, 9))},
                            file, {})
                  .ok());
  std::vector<std::byte> bytes = support::read_file(file);
  fatctx_container container = {};
  ASSERT_EQ(fatctx_container_open(file.c_str(), nullptr, &container, &error), FATCTX_OK);
  fatctx_record_info record = {};
  record.struct_size = sizeof record;
  ASSERT_EQ(fatctx_container_find(container, "b", &record, &error), FATCTX_OK);
  const fatctx_file_range gone = {record.file_offset, record.stored_bytes};
  const std::uint32_t other = id_of(container, "a");
  ASSERT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(gone.offset), gone.size, std::byte{0});
  support::write_file(file, bytes);

  ASSERT_EQ(fatctx_container_open(file.c_str(), nullptr, &container, &error), FATCTX_OK);
  fatctx_file_range ranges[2] = {{7, 7}, {7, 7}};
  std::uint64_t count = 0;
  for (const std::uint32_t id : {record.id, 0U}) {
    ASSERT_EQ(fatctx_container_absent(container, id, 1, ranges, 2, &count, &error), FATCTX_OK);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(ranges[0].offset, gone.offset);
    EXPECT_EQ(ranges[0].size, gone.size);
    EXPECT_EQ(ranges[1].offset, 7U);
  }
  EXPECT_EQ(fatctx_container_absent(container, other, 1, nullptr, 0, &count, &error), FATCTX_OK);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(fatctx_container_absent(container, 0, 1, nullptr, 0, &count, &error), FATCTX_OK);
  EXPECT_EQ(count, 1U) << "only the number";
  EXPECT_EQ(fatctx_container_absent(container, 77, 1, nullptr, 0, &count, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_container_absent(container, 0, 1, nullptr, 1, &count, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_container_absent(container, 0, 1, nullptr, 0, nullptr, &error), FATCTX_ERROR_INVALID_ARGUMENT);

  fatctx_view view = {};
  EXPECT_EQ(fatctx_container_acquire(container, record.id, &view, &error), FATCTX_ERROR_NOT_PRESENT);
  fatctx_verify_report report = {};
  report.struct_size = sizeof report;
  ASSERT_EQ(fatctx_container_verify(container, nullptr, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.absent_bytes, gone.size);
  EXPECT_EQ(report.finding_count, 1U);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

}  // namespace observe_test
}  // namespace fatctx::capi::testing
