// Appending through C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "capi/c_model.h"

namespace fatctx::capi::testing {
namespace appender_test {

using ::testing::HasSubstr;

class CAppender : public CModel {
 protected:
  ~CAppender() override { EXPECT_EQ(fatctx_appender_close(appender, nullptr), FATCTX_OK); }

  [[nodiscard]] std::int32_t open_appender(const fatctx_append_options* options = nullptr) {
    return fatctx_appender_open(path.c_str(), options, &appender, &error);
  }
  // Returns a binary for one more target of the model.
  [[nodiscard]] fatctx_pack_record binary(const char* name, const char* arch) {
    auto record = sized<fatctx_pack_record>();
    fatctx_pack_record_init(&record, sizeof record);
    record.type = FATCTX_RECORD_CONTEXT_BINARY;
    record.name = name;
    record.group = "model";
    record.unit = "main";
    record.backend = "cpu";
    record.arch = arch;
    record.bytes = bytes.data();
    record.size = bytes.size();
    record.weights = weights;
    record.weight_count = 1;
    return record;
  }
  [[nodiscard]] fatctx_append_report commit_one(const char* name, const char* arch, bool replace = false) {
    auto options = sized<fatctx_append_options>();
    options.replace = replace ? 1 : 0;
    auto report = sized<fatctx_append_report>();
    fatctx_appender one = {};
    EXPECT_EQ(fatctx_appender_open(path.c_str(), &options, &one, &error), FATCTX_OK) << text_of(error);
    const auto record = binary(name, arch);
    EXPECT_EQ(fatctx_appender_add(one, &record, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(fatctx_appender_commit(one, &report, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(fatctx_appender_close(one, &error), FATCTX_OK);
    return report;
  }
  // The report of the commit.
  [[nodiscard]] nlohmann::json told_by_appender() {
    return json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return fatctx_appender_report_json(appender, buffer, capacity, size, &error);
    });
  }
  [[nodiscard]] fatctx_open_report report_of(fatctx_container container) {
    auto report = sized<fatctx_open_report>();
    EXPECT_EQ(fatctx_container_report(container, &report, &error), FATCTX_OK) << text_of(error);
    return report;
  }

  const Bytes bytes = support::pattern(70'000, 8);
  const char* const weights[1] = {"weights"};
  fatctx_appender appender = {};
};

TEST_F(CAppender, ReadersGoOnAndReopenGivesTheNewGeneration) {
  const fatctx_container before = open();
  const std::uint64_t size_before = std::filesystem::file_size(path);
  ASSERT_EQ(open_appender(), FATCTX_OK) << text_of(error);
  const auto record = binary("new", "riscv64");
  ASSERT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_OK) << text_of(error);
  auto report = sized<fatctx_append_report>();
  ASSERT_EQ(fatctx_appender_commit(appender, &report, &error), FATCTX_OK) << text_of(error);

  EXPECT_EQ(report.generation, 2U);
  EXPECT_EQ(report.file_size_before, size_before);
  EXPECT_EQ(report.file_size, std::filesystem::file_size(path));
  EXPECT_EQ(report.stored_bytes, report.input_bytes);
  EXPECT_EQ(report.superseded_count, 0U);
  EXPECT_STREQ(report.uuid, std::string(view_of(report_of(before).uuid)).c_str());
  const nlohmann::json told = told_by_appender();
  EXPECT_EQ(told["schema"], "fatctx.appended/1");
  EXPECT_EQ(told["path"], path);
  EXPECT_EQ(told["generation"], 2);
  EXPECT_EQ(told["records"].size(), report.record_count);
  bool found = false;
  for (const nlohmann::json& row : told["records"]) {
    found = found || (row["name"] == "new" && row["size_bytes"] == bytes.size() && row["stored_bytes"] == bytes.size());
  }
  EXPECT_TRUE(found);

  auto info = sized<fatctx_record_info>();
  EXPECT_EQ(fatctx_container_find(before, "new", &info, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_container_check(before, &error), FATCTX_OK);
  fatctx_container after = {};
  ASSERT_EQ(fatctx_container_reopen(before, &after, &error), FATCTX_OK) << text_of(error);
  fatctx_view view = {};
  ASSERT_EQ(fatctx_container_acquire_name(after, "new", &view, &error), FATCTX_OK) << text_of(error);
  EXPECT_TRUE(equal_bytes(view, bytes));
  ASSERT_EQ(fatctx_container_find(after, "new", &info, &error), FATCTX_OK);
  EXPECT_EQ(info.weight_count, 1U);
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(after, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(before, &error), FATCTX_OK);
}

TEST_F(CAppender, AnEarlierGenerationCanBeAskedForAndIsListed) {
  const std::uint64_t first_end = std::filesystem::file_size(path);
  const auto second = commit_one("two", "riscv64");
  const auto third = commit_one("three", "x86-64-v3", true);
  EXPECT_EQ(third.superseded_count, 1U);
  EXPECT_GT(third.dead_bytes, second.dead_bytes);

  const fatctx_container newest = open();
  const auto said = report_of(newest);
  EXPECT_EQ(said.generation, 3U);
  EXPECT_EQ(said.newest_generation, 3U);
  EXPECT_EQ(said.dead_bytes, third.dead_bytes);
  ASSERT_EQ(said.earlier_generations, 2U);
  const std::uint64_t ends[] = {first_end, second.file_size};
  for (std::uint64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(said.earlier[i].number, i + 1);
    EXPECT_EQ(said.earlier[i].committed_end, ends[i]);
  }

  auto options = sized<fatctx_open_options>();
  fatctx_open_options_init(&options, sizeof options);
  options.generation = 2;
  const fatctx_container middle = open(&options);
  EXPECT_EQ(report_of(middle).generation, 2U);
  EXPECT_EQ(report_of(middle).newest_generation, 3U);
  EXPECT_EQ(report_of(middle).committed_end, second.file_size);
  auto info = sized<fatctx_record_info>();
  EXPECT_EQ(fatctx_container_find(middle, "cpu-x86-64-v3", &info, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(fatctx_container_find(middle, "three", &info, &error), FATCTX_ERROR_NOT_FOUND);
  auto verified = sized<fatctx_verify_report>();
  EXPECT_EQ(fatctx_container_verify(middle, nullptr, &verified, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(verified.finding_count, 0U);
  EXPECT_LT(verified.checked_bytes, third.file_size);

  options.generation = 7;
  fatctx_container missing = {};
  EXPECT_EQ(fatctx_container_open(path.c_str(), &options, &missing, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_THAT(error.message, HasSubstr("there are 1, 2 and 3"));
  EXPECT_EQ(fatctx_container_close(middle, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(newest, &error), FATCTX_OK);
}

TEST_F(CAppender, WhatIsThereAlreadyExistsUnlessItIsReplaced) {
  const Bytes before = support::read_file(path);
  ASSERT_EQ(open_appender(), FATCTX_OK) << text_of(error);
  const auto record = binary("another name", "x86-64-v3");
  EXPECT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_ERROR_EXISTS);
  EXPECT_THAT(error.message, HasSubstr("cpu-x86-64-v3"));
  EXPECT_EQ(fatctx_appender_commit(appender, nullptr, &error), FATCTX_ERROR_INVALID_ARGUMENT) << "nothing to append";
  EXPECT_EQ(fatctx_appender_close(std::exchange(appender, {}), &error), FATCTX_OK);
  EXPECT_TRUE(support::read_file(path) == before);

  auto options = sized<fatctx_append_options>();
  options.replace = 1;
  ASSERT_EQ(open_appender(&options), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_appender_commit(appender, nullptr, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(told_by_appender()["superseded"], nlohmann::json({"cpu-x86-64-v3"}));
}

TEST_F(CAppender, ADamagedMirrorIsRestoredAndTold) {
  Bytes damaged = support::read_file(path);
  damaged[0x9000 + 100] ^= std::byte{1};  // slot A1
  support::write_file(path, damaged);
  ASSERT_EQ(open_appender(), FATCTX_OK) << text_of(error);
  auto record = binary("new", "riscv64");
  const fatctx_option stored[] = {{"model_path", "/somewhere/x", nullptr}};
  record.options = stored;
  record.option_count = 1;
  ASSERT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_OK) << text_of(error);
  auto report = sized<fatctx_append_report>();
  ASSERT_EQ(fatctx_appender_commit(appender, &report, &error), FATCTX_OK) << text_of(error);

  const nlohmann::json told = told_by_appender();
  ASSERT_EQ(report.restored_count, 1U);
  EXPECT_EQ(told["restored"], nlohmann::json({"slot A1"}));
  ASSERT_EQ(report.warning_count, 1U);
  EXPECT_THAT(told["notes"][0].get<std::string>(), HasSubstr("model_path"));
  const fatctx_container whole = open();
  EXPECT_EQ(report_of(whole).degraded_count, 0U);
  EXPECT_EQ(fatctx_container_close(whole, &error), FATCTX_OK);
}

TEST_F(CAppender, OneAtATimeUntilItIsClosed) {
  ASSERT_EQ(open_appender(), FATCTX_OK) << text_of(error);
  fatctx_appender second = {};
  EXPECT_EQ(fatctx_appender_open(path.c_str(), nullptr, &second, &error), FATCTX_ERROR_LOCKED);
  EXPECT_EQ(second.id, 0U);
  EXPECT_EQ(fatctx_appender_close(std::exchange(appender, {}), &error), FATCTX_OK);
  EXPECT_EQ(open_appender(), FATCTX_OK) << text_of(error);
}

TEST_F(CAppender, ACommittedOneTakesNothingMore) {
  ASSERT_EQ(open_appender(), FATCTX_OK) << text_of(error);
  auto record = binary("new", "riscv64");
  ASSERT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_appender_commit(appender, nullptr, &error), FATCTX_OK) << text_of(error);
  record = binary("newer", "riscv32");
  EXPECT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  EXPECT_EQ(fatctx_appender_commit(appender, nullptr, &error), FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  EXPECT_THAT(error.message, HasSubstr("open it again"));
  EXPECT_EQ(told_by_appender()["generation"], 2) << "what was committed is still told";
}

TEST_F(CAppender, ASealedFileSaysHowToGetOneThatIsNot) {
  support::write_file(path, support::sealed_sample());
  EXPECT_EQ(open_appender(), FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  EXPECT_THAT(error.message, HasSubstr("fatctx compact"));
}

// The callback receives progress, can stop the work, and can call the library meanwhile.
TEST_F(CAppender, ProgressIsToldAndCanCancel) {
  struct Seen {
    fatctx_appender appender;
    std::int32_t answer;
    std::int32_t inside;
    std::uint64_t done;
  };
  const auto watch = [](void* user, std::uint64_t done, std::uint64_t) -> std::int32_t {
    auto& seen = *static_cast<Seen*>(user);
    seen.inside = fatctx_appender_commit(seen.appender, nullptr, nullptr);
    seen.done = done;
    return seen.answer;
  };
  for (const std::int32_t answer : {1, 0}) {
    Seen seen = {{}, answer, 0, 0};
    auto options = sized<fatctx_append_options>();
    options.progress = watch;
    options.progress_user = &seen;
    ASSERT_EQ(open_appender(&options), FATCTX_OK) << text_of(error);
    seen.appender = appender;
    const auto record = binary("new", "riscv64");
    ASSERT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(fatctx_appender_commit(appender, nullptr, &error), answer == 0 ? FATCTX_OK : FATCTX_ERROR_CANCELLED);
    EXPECT_EQ(seen.inside, FATCTX_ERROR_OPERATION_NOT_PERMITTED) << "it is at work";
    EXPECT_GT(seen.done, 0U);
    EXPECT_EQ(fatctx_appender_close(std::exchange(appender, {}), &error), FATCTX_OK);
    const fatctx_container now = open();
    EXPECT_EQ(report_of(now).generation, answer == 0 ? 2U : 1U);
    EXPECT_EQ(fatctx_container_close(now, &error), FATCTX_OK);
  }
}

TEST_F(CAppender, OptionsThatAreNotKnownAreRefused) {
  auto options = sized<fatctx_append_options>();
  options.sharing = 3;
  EXPECT_EQ(open_appender(&options), FATCTX_ERROR_INVALID_ARGUMENT);
  options = {};
  EXPECT_EQ(open_appender(&options), FATCTX_ERROR_INVALID_ARGUMENT) << "struct_size is 0";
  ASSERT_EQ(open_appender(), FATCTX_OK);
  const auto record = binary("new", "riscv64");
  ASSERT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_OK);
  fatctx_append_report report = {};
  EXPECT_EQ(fatctx_appender_commit(appender, &report, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  const fatctx_container now = open();
  EXPECT_EQ(report_of(now).generation, 1U) << "asked before anything was written";
  EXPECT_EQ(fatctx_container_close(now, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_appender_commit(appender, nullptr, &error), FATCTX_OK) << text_of(error);
}

// Shows S4.22.
TEST_F(CAppender, OnePerSocIsAnOptionOfPackerAndAppender) {
  auto append_options = sized<fatctx_append_options>();
  EXPECT_EQ(append_options.one_per_soc, 0U);
  auto first = binary("first", "v75");
  first.backend = "htp";
  first.qnn_soc = 57;
  auto second = first;
  second.name = "second";
  second.vtcm_mb = 4;  // the table says 8, which the first one gets
  ASSERT_EQ(open_appender(&append_options), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_appender_add(appender, &first, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_appender_commit(appender, nullptr, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_appender_close(appender, &error), FATCTX_OK);

  append_options.one_per_soc = 1;
  ASSERT_EQ(open_appender(&append_options), FATCTX_OK) << text_of(error);
  EXPECT_EQ(fatctx_appender_add(appender, &second, &error), FATCTX_ERROR_EXISTS);
  EXPECT_THAT(text_of(error), HasSubstr("for SoC 57, as \"first\" is"));

  auto pack_options = sized<fatctx_pack_options>();
  fatctx_pack_options_init(&pack_options, sizeof pack_options);
  EXPECT_EQ(pack_options.one_per_soc, 0U);
  for (const std::uint32_t one_per_soc : {0U, 1U}) {
    pack_options.one_per_soc = one_per_soc;
    fatctx_packer packer = {};
    ASSERT_EQ(fatctx_packer_create(&pack_options, &packer, &error), FATCTX_OK);
    EXPECT_EQ(fatctx_packer_add(packer, &first, &error), FATCTX_OK);
    EXPECT_EQ(fatctx_packer_add(packer, &second, &error), one_per_soc == 1 ? FATCTX_ERROR_EXISTS : FATCTX_OK);
    EXPECT_EQ(fatctx_packer_close(packer, &error), FATCTX_OK);
  }
}

TEST_F(CAppender, StrictSharingIsAnOptionOfPackerAndAppender) {
  const fatctx_option options[] = {{"graphs.dlbc", "true", "htp"}};
  auto record = binary("new", "v75");
  record.options = options;
  record.option_count = 1;
  auto append_options = sized<fatctx_append_options>();
  for (const std::uint32_t strict : {1U, 0U}) {
    append_options.strict_sharing = strict;
    ASSERT_EQ(open_appender(&append_options), FATCTX_OK) << text_of(error);
    ASSERT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(fatctx_appender_commit(appender, nullptr, &error), strict == 1 ? FATCTX_ERROR_UNSUPPORTED : FATCTX_OK);
    if (strict == 0) continue;
    ASSERT_EQ(fatctx_appender_close(appender, &error), FATCTX_OK);
  }
  EXPECT_THAT(told_by_appender()["notes"][0].get<std::string>(),
              HasSubstr("\"new\" has bandwidth compression (dlbc) on"));

  auto pack_options = sized<fatctx_pack_options>();
  fatctx_pack_options_init(&pack_options, sizeof pack_options);
  pack_options.strict_sharing = 1;
  pack_options.overwrite = 1;
  record.weight_count = 0;
  fatctx_packer packer = {};
  ASSERT_EQ(fatctx_packer_create(&pack_options, &packer, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_OK);
  const std::string packed = path + ".packed";  // the appender holds the lock of the first file
  EXPECT_EQ(fatctx_packer_publish(packer, packed.c_str(), nullptr, &error), FATCTX_ERROR_UNSUPPORTED);
  EXPECT_EQ(fatctx_packer_close(packer, &error), FATCTX_OK);
}

// Shows S4.33.
TEST_F(CAppender, ALoadedViewIsNotPermittedUnlessACopyIsMeant) {
  const fatctx_container container = open();
  fatctx_view view = {};
  ASSERT_EQ(fatctx_container_acquire_name(container, "cpu-aarch64", &view, &error), FATCTX_OK) << text_of(error);
  auto record = binary("second", "riscv64");
  record.bytes = nullptr;
  record.size = 0;
  record.loaded = view;
  ASSERT_EQ(open_appender(), FATCTX_OK) << text_of(error);

  EXPECT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  record.copy = 1;
  record.bytes = bytes.data();
  record.size = bytes.size();
  EXPECT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_ERROR_INVALID_ARGUMENT) << "two sources";
  record.bytes = nullptr;
  record.size = 0;
  ASSERT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_OK) << text_of(error);
  const std::uint64_t size = view.size;
  ASSERT_EQ(fatctx_view_close(view, &error), FATCTX_OK) << "it may go before the commit";
  EXPECT_EQ(fatctx_appender_add(appender, &record, &error), FATCTX_ERROR_STALE_HANDLE);
  auto report = sized<fatctx_append_report>();
  ASSERT_EQ(fatctx_appender_commit(appender, &report, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(report.shared_bytes, size) << "equal to the one it was loaded from";
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

}  // namespace appender_test
}  // namespace fatctx::capi::testing
