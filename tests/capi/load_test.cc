// Loading through C: everything that C adds to the tests of the runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "capi/c_dlc.h"
#include "capi/c_model.h"

namespace fatctx::capi::testing {
namespace load_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CLoad : public CModel {
 protected:
  CLoad() {
    EXPECT_EQ(fatctx_device_parse("x86-64-v3", &device_, nullptr), FATCTX_OK);
    model_.device = device_;
    fatctx_load_options_init(&options_, sizeof options_);
    options_.model = &model_;
  }
  ~CLoad() override { EXPECT_EQ(fatctx_device_close(device_, nullptr), FATCTX_OK); }
  [[nodiscard]] static fatctx_source from(const char* file) {
    fatctx_source source;
    fatctx_source_init(&source, sizeof source);
    source.path = file;
    return source;
  }

  fatctx_device device_ = {};
  fatctx_model_options model_ = sized<fatctx_model_options>();
  fatctx_load_options options_ = {};
  fatctx_error error_ = fresh_error();
};

TEST_F(CLoad, OfAContainerGivesBinaryWeightsModelAndReason) {
  const fatctx_source source = from(path.c_str());
  fatctx_session loaded;
  ASSERT_EQ(fatctx_load(&source, &options_, &loaded, &error_), FATCTX_OK) << text_of(error_);

  auto info = sized<fatctx_session_info>();
  ASSERT_EQ(fatctx_session_describe(loaded, &info, &error_), FATCTX_OK);
  EXPECT_EQ(info.format, static_cast<std::uint32_t>(FATCTX_MODEL_CONTAINER));
  EXPECT_STREQ(fatctx_model_format_name(info.format), "container");
  EXPECT_EQ(view_of(info.path), path);
  EXPECT_EQ(info.selected, 1U);
  EXPECT_EQ(info.binary_count, 1U);
  EXPECT_EQ(info.weights_count, 1U);
  auto record = sized<fatctx_session_record>();
  ASSERT_EQ(fatctx_session_record_at(loaded, FATCTX_SESSION_BINARIES, 0, &record, &error_), FATCTX_OK);
  EXPECT_EQ(view_of(record.name), "cpu-x86-64-v3");
  EXPECT_EQ(record.type, static_cast<std::uint32_t>(FATCTX_RECORD_CONTEXT_BINARY));
  EXPECT_EQ(fatctx_session_record_at(loaded, FATCTX_SESSION_BINARIES, 1, &record, &error_), FATCTX_ERROR_NOT_FOUND);
  fatctx_view binary;
  fatctx_view weights;
  fatctx_model model;
  ASSERT_EQ(fatctx_session_binary(loaded, nullptr, &binary, &error_), FATCTX_OK);
  ASSERT_EQ(fatctx_session_weights(loaded, 0, &weights, &error_), FATCTX_OK);
  ASSERT_EQ(fatctx_session_model(loaded, &model, &error_), FATCTX_OK);
  EXPECT_THAT(text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
                return fatctx_session_json(loaded, buffer, capacity, size, nullptr);
              }),
              HasSubstr("\"schema\": \"fatctx.session/1\""));
  EXPECT_EQ(fatctx_session_record_at(loaded, 2, 0, &record, &error_), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_session_record_at(loaded, FATCTX_SESSION_WEIGHTS, 0, &record, &error_), FATCTX_OK);
  EXPECT_EQ(view_of(record.name), "weights");
  ASSERT_EQ(fatctx_session_close(loaded, &error_), FATCTX_OK);
  EXPECT_TRUE(equal_bytes(binary, v3_bytes())) << "views stay";
  EXPECT_TRUE(equal_bytes(weights, weights_bytes()));
  EXPECT_EQ(fatctx_view_close(binary, nullptr), FATCTX_OK);
  EXPECT_EQ(fatctx_view_close(weights, nullptr), FATCTX_OK);
  EXPECT_EQ(fatctx_model_close(model, nullptr), FATCTX_OK);
}

TEST_F(CLoad, OfADlcAndOfARawBinaryHasAModelWithoutAContainer) {
  const std::string raw = folder.file("context.bin");
  support::write_file(raw, support::pattern(3000, 8));
  fatctx_device npu;
  ASSERT_EQ(fatctx_device_parse("57", &npu, &error_), FATCTX_OK) << text_of(error_);
  model_.device = npu;
  model_.raw_binaries = FATCTX_RAW_BINARIES_ANY;
  for (const std::string& file : {CDlc::get().dlc(), raw}) {
    const fatctx_source source = from(file.c_str());
    fatctx_session loaded;
    fatctx_model model;
    ASSERT_EQ(fatctx_load(&source, &options_, &loaded, &error_), FATCTX_OK) << text_of(error_);
    ASSERT_EQ(fatctx_session_model(loaded, &model, &error_), FATCTX_OK);
    fatctx_container container;
    EXPECT_EQ(fatctx_model_container(model, &container, &error_), FATCTX_ERROR_NOT_FOUND);
    EXPECT_EQ(container.id, 0U);
    fatctx_session again;
    ASSERT_EQ(fatctx_model_begin_session(model, &again, &error_), FATCTX_OK);
    fatctx_view first;
    fatctx_view second;
    ASSERT_EQ(fatctx_session_binary(loaded, nullptr, &first, &error_), FATCTX_OK);
    ASSERT_EQ(fatctx_session_binary(again, nullptr, &second, &error_), FATCTX_OK);
    EXPECT_EQ(first.data, second.data) << "sessions of one model share its bytes";
    EXPECT_EQ(fatctx_view_close(first, nullptr), FATCTX_OK);
    EXPECT_EQ(fatctx_view_close(second, nullptr), FATCTX_OK);
    EXPECT_EQ(fatctx_session_end(again, &error_), FATCTX_OK);
    EXPECT_EQ(fatctx_model_close(model, nullptr), FATCTX_OK);
    auto info = sized<fatctx_session_info>();
    ASSERT_EQ(fatctx_session_describe(loaded, &info, &error_), FATCTX_OK);
    EXPECT_EQ(info.format, static_cast<std::uint32_t>(file == raw ? FATCTX_MODEL_RAW_BINARY : FATCTX_MODEL_DLC));
    EXPECT_EQ(info.selected, file == raw ? 0U : 1U);
    EXPECT_EQ(fatctx_session_close(loaded, nullptr), FATCTX_OK);
  }
  model_.raw_binaries = FATCTX_RAW_BINARIES_KNOWN;
  const fatctx_source source = from(raw.c_str());
  fatctx_session loaded;
  EXPECT_EQ(fatctx_load(&source, &options_, &loaded, &error_), FATCTX_ERROR_BAD_MAGIC);
  EXPECT_EQ(fatctx_device_close(npu, nullptr), FATCTX_OK);
}

TEST_F(CLoad, TakesOneSourceAndOptionsThatItKnows) {
  fatctx_source source = from(path.c_str());
  source.descriptor = 3;
  fatctx_session loaded;
  EXPECT_EQ(fatctx_load(&source, &options_, &loaded, &error_), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(text_of(error_), HasSubstr("the source has 2 of path, descriptor and bytes"));
  source = from(nullptr);
  EXPECT_EQ(fatctx_load(&source, &options_, &loaded, &error_), FATCTX_ERROR_INVALID_ARGUMENT);
  source = from(path.c_str());
  model_.raw_binaries = 3;
  EXPECT_EQ(fatctx_load(&source, &options_, &loaded, &error_), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_raw_binaries_from_name("any"), static_cast<std::uint32_t>(FATCTX_RAW_BINARIES_ANY));
  EXPECT_EQ(fatctx_raw_binaries_from_name("some"), FATCTX_UNKNOWN);
}

TEST_F(CLoad, ASignalAndAProgressFunctionStopIt) {
  const fatctx_source source = from(path.c_str());
  fatctx_load_signal signal;
  fatctx_session loaded;
  ASSERT_EQ(fatctx_load_signal_create(60'000, &signal, &error_), FATCTX_OK);
  model_.signal = signal;
  std::vector<std::string> told;
  options_.user = &told;
  options_.notify = [](void* user, const fatctx_load_event* event) {
    if (event->kind != FATCTX_LOAD_CONTEXT_INITIALISED) return;
    static_cast<std::vector<std::string>*>(user)->push_back(
        event->error != nullptr ? fatctx_error_code_name(event->error->code) : std::string(view_of(event->record)));
  };
  EXPECT_EQ(fatctx_load(&source, &options_, &loaded, &error_), FATCTX_OK) << text_of(error_);
  EXPECT_EQ(fatctx_session_close(loaded, nullptr), FATCTX_OK);
  ASSERT_EQ(fatctx_load_signal_cancel(signal, &error_), FATCTX_OK);
  EXPECT_EQ(fatctx_load(&source, &options_, &loaded, &error_), FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(loaded.id, 0U);
  std::uint32_t cancelled = 0;
  std::uint32_t in_use = 7;
  ASSERT_EQ(fatctx_load_signal_state(signal, &cancelled, &in_use, &error_), FATCTX_OK);
  EXPECT_EQ(cancelled, 1U);
  EXPECT_EQ(in_use, 0U);
  ASSERT_EQ(fatctx_load_signal_reset(signal, &error_), FATCTX_OK);
  options_.progress = [](void*, std::uint64_t, std::uint64_t) -> std::int32_t { return 1; };
  EXPECT_EQ(fatctx_load(&source, &options_, &loaded, &error_), FATCTX_ERROR_CANCELLED);
  EXPECT_THAT(told, ElementsAre("cpu-x86-64-v3", "cancelled"));
  EXPECT_EQ(fatctx_load_signal_set_timeout(signal, ~std::uint64_t{0}, &error_), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_load_signal_close(signal, nullptr), FATCTX_OK);
}

TEST_F(CLoad, AListTellsOfEachItemInOrderWithAHandleOfItsOwn) {
  const std::string missing = folder.file("missing");
  const fatctx_source there = from(path.c_str());
  const fatctx_source gone = from(missing.c_str());
  std::vector<std::string> told;
  const fatctx_load_finished finished = [](void* user, std::uint64_t index, fatctx_session loaded,
                                           const fatctx_error* failed) {
    static_cast<std::vector<std::string>*>(user)->push_back(
        std::to_string(index) + (failed == nullptr ? " ok" : " " + std::string(fatctx_error_code_name(failed->code))));
    EXPECT_EQ(fatctx_session_close(loaded, nullptr), FATCTX_OK);
  };
  const fatctx_load_item items[] = {
      {&there, &options_, finished, &told}, {&gone, &options_, finished, &told}, {&there, &options_, finished, &told}};
  fatctx_load_list list;

  ASSERT_EQ(fatctx_load_list_start(items, 3, 1, &list, &error_), FATCTX_OK) << text_of(error_);
  ASSERT_EQ(fatctx_load_list_wait(list, &error_), FATCTX_OK) << text_of(error_);

  EXPECT_THAT(told, ElementsAre("0 ok", "1 not_found", "2 ok"));
  std::uint64_t size = 0;
  std::uint64_t count = 0;
  ASSERT_EQ(fatctx_load_list_state(list, &size, &count, &error_), FATCTX_OK);
  EXPECT_EQ(size, 3U);
  EXPECT_EQ(count, 3U);
  fatctx_session loaded;
  EXPECT_EQ(fatctx_load_list_result(list, 1, &loaded, &error_), FATCTX_ERROR_NOT_FOUND);
  ASSERT_EQ(fatctx_load_list_result(list, 2, &loaded, &error_), FATCTX_OK);
  ASSERT_EQ(fatctx_load_list_cancel(list, &error_), FATCTX_OK);
  ASSERT_EQ(fatctx_load_list_close(list, &error_), FATCTX_OK);
  fatctx_view binary;
  ASSERT_EQ(fatctx_session_binary(loaded, nullptr, &binary, &error_), FATCTX_OK);
  EXPECT_TRUE(equal_bytes(binary, v3_bytes()));
  EXPECT_EQ(fatctx_view_close(binary, nullptr), FATCTX_OK);
  EXPECT_EQ(fatctx_session_close(loaded, nullptr), FATCTX_OK);
}

}  // namespace load_test
}  // namespace fatctx::capi::testing
