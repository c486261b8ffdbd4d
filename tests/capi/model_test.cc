// Devices, selection and sessions through C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "capi/c_model.h"

namespace fatctx::capi::testing {
namespace model_test {

using ::testing::HasSubstr;

std::string json_of(fatctx_device device) {
  auto error = fresh_error();
  return text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_device_json(device, buffer, capacity, size, &error);
  });
}

TEST(CDevice, IsDetectedWithItsSources) {
  auto error = fresh_error();
  fatctx_device device = {};
  ASSERT_EQ(fatctx_device_detect(nullptr, &device, &error), FATCTX_OK) << text_of(error);
  const auto found = json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_device_detection_json(device, buffer, capacity, size, &error);
  });
  EXPECT_EQ(found["schema"], "fatctx.detection/1");
  ASSERT_GE(found["sources"].size(), 1U);
  EXPECT_NE(found["sources"][0]["id"], "");
  EXPECT_NE(found["sources"][0]["state"], "");
  EXPECT_EQ(nlohmann::json::parse(json_of(device))["backend"], "cpu");
  EXPECT_EQ(fatctx_device_close(device, &error), FATCTX_OK);
}

TEST(CDevice, IsReadFromWordsAndFromItsOwnJson) {
  auto error = fresh_error();
  fatctx_device device = {};
  ASSERT_EQ(fatctx_device_parse("aarch64+i8mm+dotprod", &device, &error), FATCTX_OK) << text_of(error);
  const std::string json = json_of(device);
  fatctx_device again = {};
  ASSERT_EQ(fatctx_device_parse(json.c_str(), &again, &error), FATCTX_OK) << text_of(error);

  EXPECT_EQ(json_of(again), json);
  EXPECT_THAT(json, HasSubstr("dotprod"));
  EXPECT_EQ(fatctx_device_parse("riscv-ish", &device, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(device.id, 0U);
  EXPECT_EQ(fatctx_device_parse("{\"chip\": 1}", &device, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_device_close(again, &error), FATCTX_OK);
}

TEST_F(CModel, TheSelectionHasAVerdictForEveryBinary) {
  const fatctx_container container = open();
  const fatctx_model model = choose(container);
  auto selection = sized<fatctx_selection>();
  ASSERT_EQ(fatctx_model_selection(model, &selection, &error), FATCTX_OK);
  auto chosen = sized<fatctx_record_info>();
  ASSERT_EQ(selection.chosen_count, 1U);
  ASSERT_EQ(fatctx_container_record(container, selection.chosen[0], &chosen, &error), FATCTX_OK);

  EXPECT_EQ(view_of(chosen.name), "cpu-x86-64-v3");
  EXPECT_EQ(selection.level, static_cast<std::uint32_t>(FATCTX_LEVEL_OPTIMAL));
  EXPECT_EQ(view_of(selection.group), "model");
  ASSERT_EQ(selection.verdict_count, 4U);
  std::map<std::uint32_t, std::string> axes;
  for (std::uint64_t i = 0; i < selection.verdict_count; ++i) {
    auto verdict = sized<fatctx_verdict>();
    ASSERT_EQ(fatctx_model_verdict(model, i, &verdict, &error), FATCTX_OK);
    EXPECT_EQ(verdict.chosen, verdict.record_id == selection.chosen[0] ? 1U : 0U);
    axes[verdict.record_id] = fatctx_axis_id(verdict.axis);
  }
  EXPECT_EQ(axes.size(), 4U);
  EXPECT_EQ(axes[1], "C1");  // aarch64
  EXPECT_EQ(axes[4], "C2");  // x86-64-v4
  auto verdict = sized<fatctx_verdict>();
  EXPECT_EQ(fatctx_model_verdict(model, 4, &verdict, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_model_close(model, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CModel, ExplainingIsTheSameFromModelAndContainer) {
  const fatctx_container container = open();
  const fatctx_model model = choose(container);
  auto options = sized<fatctx_model_options>();
  options.device = device();
  const auto from_model = [&](std::uint32_t format) {
    return text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return fatctx_model_explain(model, format, buffer, capacity, size, &error);
    });
  };
  const auto from_container = [&](std::uint32_t format) {
    return text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return fatctx_container_explain(container, &options, format, buffer, capacity, size, &error);
    });
  };

  EXPECT_THAT(from_model(FATCTX_FORMAT_TEXT), HasSubstr("chosen: cpu-x86-64-v3"));
  EXPECT_EQ(from_container(FATCTX_FORMAT_TEXT), from_model(FATCTX_FORMAT_TEXT));
  EXPECT_EQ(from_container(FATCTX_FORMAT_JSON), from_model(FATCTX_FORMAT_JSON));
  EXPECT_EQ(nlohmann::json::parse(from_model(FATCTX_FORMAT_JSON))["schema"], "fatctx.selection/1");
  EXPECT_EQ(fatctx_model_explain(model, 2, nullptr, 0, nullptr, &error), FATCTX_ERROR_INVALID_ARGUMENT);

  EXPECT_EQ(fatctx_device_close(options.device, &error), FATCTX_OK);
  options.device = device("x86-64-v1");
  EXPECT_THAT(from_container(FATCTX_FORMAT_TEXT), HasSubstr("chosen: none"));
  fatctx_model none = {};
  EXPECT_EQ(fatctx_model_choose(container, &options, &none, &error), FATCTX_ERROR_NO_MATCH);
  EXPECT_THAT(error.message, HasSubstr("cpu-aarch64"));
  EXPECT_EQ(fatctx_device_close(options.device, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_model_close(model, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

// Shows a prepare hook through C: it is called once, it is told the device, and its binary or error reaches the caller.
TEST_F(CModel, ASourceModelIsCompiledByTheHookOfTheCaller) {
  const std::string with_source = path + ".source";
  std::vector<fatctx::PackRecord> records = fatctx::support::cpu_records();
  fatctx::PackRecord model_source =
      fatctx::support::plain_record(fatctx::RecordType::kSourceModel, "source", fatctx::support::pattern(5'000, 4));
  model_source.key.group = "model";
  records.push_back(std::move(model_source));
  ASSERT_TRUE(fatctx::support::pack(std::move(records), with_source, {}).ok());
  struct Asked {
    int times = 0;
    bool refuses = false;
    std::string name, device;
    std::string binary;
  } asked;
  auto options = sized<fatctx_model_options>();
  options.device = device("x86-64-v1");
  options.refuse_generic = 1;
  options.prepare_user = &asked;
  fatctx_model model = {};
  EXPECT_EQ(fatctx_model_open(with_source.c_str(), &options, &model, &error), FATCTX_ERROR_NO_MATCH);
  EXPECT_THAT(error.message, HasSubstr("nobody here compiles it [no_hook]"));
  options.prepare = [](void* user, const fatctx_prepare_request* request, const void** binary,
                       std::uint64_t* binary_size, char* reason, std::size_t capacity) -> std::uint32_t {
    auto& told = *static_cast<Asked*>(user);
    ++told.times;
    told.name = view_of(request->name);
    told.device = view_of(request->device);
    if (told.refuses) {
      std::snprintf(reason, capacity, "the compiler is busy");
      return 0;
    }
    told.binary = "compiled out of " + std::to_string(request->source_size) + " bytes";
    *binary = told.binary.data();
    *binary_size = told.binary.size();
    return 1;
  };

  ASSERT_EQ(fatctx_model_open(with_source.c_str(), &options, &model, &error), FATCTX_OK) << text_of(error);
  asked.binary.assign(asked.binary.size(), '?');  // it has been copied
  const fatctx_session session = begin(model);
  fatctx_view binary = {};
  auto info = sized<fatctx_view_info>();
  ASSERT_EQ(fatctx_session_binary(session, nullptr, &binary, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_view_describe(binary, &info, &error), FATCTX_OK);

  EXPECT_EQ(asked.times, 1);
  EXPECT_EQ(asked.name, "source");
  EXPECT_EQ(nlohmann::json::parse(asked.device)["arch"], "x86-64-v1");
  EXPECT_EQ(std::string_view(static_cast<const char*>(info.data), info.size), "compiled out of 5000 bytes");
  EXPECT_EQ(fatctx_view_close(binary, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_session_close(session, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_model_close(model, &error), FATCTX_OK);

  asked.refuses = true;
  EXPECT_EQ(fatctx_model_open(with_source.c_str(), &options, &model, &error), FATCTX_ERROR_SERIALISE_FAILED);
  EXPECT_THAT(error.message, HasSubstr("compiling source model \"source\": the compiler is busy"));
  EXPECT_EQ(fatctx_device_close(options.device, &error), FATCTX_OK);
}

TEST_F(CModel, ADamagedTargetIsPassedOverAndToldAbout) {
  const std::uint64_t at = fatctx::Container::open(path).value().find("cpu-x86-64-v4").value().file_offset + 9;
  fatctx::support::Bytes bytes = fatctx::support::read_file(path);
  bytes[static_cast<std::size_t>(at)] ^= std::byte{4};
  const std::string damaged = path + ".damaged";
  fatctx::support::write_file(damaged, bytes);
  auto options = sized<fatctx_model_options>();
  fatctx_model_options_init(&options, sizeof options);
  EXPECT_EQ(options.on_damage, static_cast<std::uint32_t>(FATCTX_ON_DAMAGE_FAIL));
  options.device = device("x86-64-v4");
  options.on_damage = 2;
  fatctx_model model = {};
  EXPECT_EQ(fatctx_model_open(damaged.c_str(), &options, &model, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("on_damage is 2"));

  options.on_damage = FATCTX_ON_DAMAGE_NEXT;
  ASSERT_EQ(fatctx_model_open(damaged.c_str(), &options, &model, &error), FATCTX_OK) << text_of(error);
  auto selection = sized<fatctx_selection>();
  ASSERT_EQ(fatctx_model_selection(model, &selection, &error), FATCTX_OK);
  ASSERT_EQ(selection.damaged_count, 1U);
  fatctx_error damage = {};
  fatctx_error_init(&damage, sizeof damage);
  ASSERT_EQ(fatctx_model_damaged(model, 0, &damage, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(damage.code, FATCTX_ERROR_CHECKSUM_MISMATCH);
  EXPECT_EQ(damage.file_offset, at / 65536 * 65536);
  EXPECT_NE(damage.record_id, selection.chosen[0]);
  EXPECT_THAT(damage.message, HasSubstr(damaged));
  EXPECT_EQ(fatctx_model_damaged(model, 1, &damage, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_model_damaged(model, 0, nullptr, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_model_close(model, &error), FATCTX_OK);

  options.on_damage = FATCTX_ON_DAMAGE_FAIL;
  fatctx_view view = {};
  EXPECT_EQ(fatctx_view_open(damaged.c_str(), &options, nullptr, &view, &error), FATCTX_ERROR_CHECKSUM_MISMATCH);
  options.on_damage = FATCTX_ON_DAMAGE_NEXT;
  ASSERT_EQ(fatctx_view_open(damaged.c_str(), &options, nullptr, &view, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_device_close(options.device, &error), FATCTX_OK);
}

TEST_F(CModel, PolicyReachesTheSelection) {
  auto options = sized<fatctx_model_options>();
  fatctx_model_options_init(&options, sizeof options);
  options.device = device("x86-64-v2");
  options.record_override = "cpu-x86-64-v4";
  fatctx_model model = {};
  EXPECT_EQ(fatctx_model_open(path.c_str(), &options, &model, &error), FATCTX_ERROR_NO_MATCH);
  options.force = 1;
  ASSERT_EQ(fatctx_model_open(path.c_str(), &options, &model, &error), FATCTX_OK) << text_of(error);
  auto selection = sized<fatctx_selection>();
  ASSERT_EQ(fatctx_model_selection(model, &selection, &error), FATCTX_OK);
  ASSERT_EQ(selection.warning_count, 1U);
  fatctx_text warning = {};
  EXPECT_EQ(fatctx_model_warning(model, 0, &warning, &error), FATCTX_OK);
  EXPECT_EQ(view_of(warning), "override_forced");
  EXPECT_EQ(fatctx_model_warning(model, 1, &warning, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_model_close(model, &error), FATCTX_OK);

  fatctx_model_options_init(&options, sizeof options);
  options.group = "another";
  EXPECT_EQ(fatctx_model_open(path.c_str(), &options, &model, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  options.group = nullptr;
  options.boundary_count = 2;
  EXPECT_EQ(fatctx_model_open(path.c_str(), &options, &model, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("boundaries is null"));
  options.boundary_count = 0;
  options.device.id = 12345;
  EXPECT_EQ(fatctx_model_open(path.c_str(), &options, &model, &error), FATCTX_ERROR_STALE_HANDLE);
}

TEST_F(CModel, AModelGivesItsContainerAndItsDevice) {
  const fatctx_container container = open();
  const fatctx_model model = choose(container);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  fatctx_container again = {};
  fatctx_device device = {};
  ASSERT_EQ(fatctx_model_container(model, &again, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_model_device(model, &device, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_model_close(model, &error), FATCTX_OK);

  std::uint64_t count = 0;
  EXPECT_EQ(fatctx_container_record_count(again, &count, &error), FATCTX_OK);
  EXPECT_EQ(count, 7U);
  EXPECT_EQ(nlohmann::json::parse(json_of(device))["arch"], "x86-64-v3");
  EXPECT_EQ(fatctx_container_close(again, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_device_close(device, &error), FATCTX_OK);
}

TEST_F(CModel, ASessionHandsOutBinaryWeightsAndTensors) {
  const fatctx_container container = open();
  const fatctx_model model = choose(container);
  const fatctx_session session = begin(model);
  auto info = sized<fatctx_session_info>();
  ASSERT_EQ(fatctx_session_describe(session, &info, &error), FATCTX_OK);
  ASSERT_EQ(info.weights_count, 1U);
  fatctx_view binary;
  fatctx_view weights;
  fatctx_view tensor;
  fatctx_view none;
  ASSERT_EQ(fatctx_session_binary(session, "main", &binary, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_session_weights(session, 0, &weights, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_session_tensor(session, "layer/0/b", &tensor, &error), FATCTX_OK);

  EXPECT_TRUE(equal_bytes(binary, v3_bytes()));
  EXPECT_TRUE(equal_bytes(weights, weights_bytes()));
  EXPECT_EQ(static_cast<const std::byte*>(tensor.data), static_cast<const std::byte*>(weights.data) + 20'064);
  EXPECT_EQ(fatctx_session_binary(session, "draft", &none, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_session_weights(session, 1, &none, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_session_tensor(session, "layer/9", &none, &error), FATCTX_ERROR_NOT_FOUND);
  for (const fatctx_view& view : {binary, weights, tensor}) EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_session_close(session, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_model_close(model, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

}  // namespace model_test
}  // namespace fatctx::capi::testing
