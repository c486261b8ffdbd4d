// Containers, records and views through C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "capi/c99_user.h"
#include "capi/c_model.h"
#include "mapping/unique_fd.h"
#include "support/descriptors.h"
#include "support/process_files.h"

namespace fatctx::capi::testing {
namespace container_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(C99, AStrictC99FilePacksOpensChoosesAndViews) {
  const TempDir folder;
  const char* wrong = c99_walk(folder.file("c99.fatctx").c_str());
  EXPECT_EQ(wrong, nullptr) << wrong;
}

TEST_F(CModel, RecordsAreThoseOfTheFile) {
  const fatctx_container container = open();
  std::uint64_t count = 0;
  ASSERT_EQ(fatctx_container_record_count(container, &count, &error), FATCTX_OK);
  ASSERT_EQ(count, 7U);
  auto by_index = sized<fatctx_record_info>();
  auto by_id = sized<fatctx_record_info>();
  auto by_name = sized<fatctx_record_info>();
  ASSERT_EQ(fatctx_container_record_at(container, 1, &by_index, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_container_record(container, by_index.id, &by_id, &error), FATCTX_OK);
  const std::string name(view_of(by_index.name));
  ASSERT_EQ(fatctx_container_find(container, name.c_str(), &by_name, &error), FATCTX_OK);

  EXPECT_EQ(name, "cpu-x86-64-v2");
  EXPECT_EQ(std::memcmp(&by_index, &by_id, sizeof by_id), 0);
  EXPECT_EQ(std::memcmp(&by_index, &by_name, sizeof by_id), 0);
  EXPECT_EQ(by_id.type, static_cast<std::uint32_t>(FATCTX_RECORD_CONTEXT_BINARY));
  EXPECT_EQ(by_id.supported, 1U);
  EXPECT_EQ(view_of(by_id.group), "model");
  EXPECT_EQ(view_of(by_id.backend), "cpu");
  EXPECT_EQ(view_of(by_id.arch), "x86-64-v2");
  ASSERT_EQ(by_id.weight_count, 1U);
  EXPECT_EQ(by_id.weights[0], 5U);
  EXPECT_EQ(text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
              return fatctx_container_record_target(container, by_id.id, buffer, capacity, size, &error);
            }),
            "cpu x86-64-v2");
  EXPECT_EQ(fatctx_container_record_target(container, 99, nullptr, 0, nullptr, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(by_id.size_bytes, 300U + 37U);
  ASSERT_EQ(fatctx_container_find(container, "cpu-aarch64", &by_name, &error), FATCTX_OK);
  EXPECT_EQ(view_of(by_name.features), "dotprod,i8mm");

  EXPECT_EQ(fatctx_container_record_at(container, count, &by_id, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_THAT(error.message, HasSubstr("there are 7"));
  EXPECT_EQ(fatctx_container_record(container, 99, &by_id, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_container_find(container, "wieghts", &by_id, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_THAT(error.message, HasSubstr("weights"));
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CModel, TheReportSaysWhatAnOpenFoundOut) {
  Bytes bytes = support::read_file(path);
  bytes[40] ^= std::byte{1};  // the first copy of the prologue
  support::write_file(path, bytes);
  const fatctx_container first = open();
  const fatctx_container second = open();
  auto report = sized<fatctx_open_report>();

  ASSERT_EQ(fatctx_container_report(first, &report, &error), FATCTX_OK);

  EXPECT_EQ(view_of(report.path), path);
  EXPECT_EQ(report.file_size, bytes.size());
  EXPECT_EQ(report.slot, static_cast<std::uint32_t>('A'));
  EXPECT_EQ(report.already_live, 0U);
  EXPECT_EQ(report.mapped, 1U);
  EXPECT_EQ(report.uuid.size, 36U);
  ASSERT_EQ(report.degraded_count, 1U);
  EXPECT_EQ(view_of(report.degraded[0]), "prologue copy 0");
  EXPECT_EQ(report.earlier_generations, 0U);
  ASSERT_EQ(fatctx_container_report(second, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.already_live, 1U);
  EXPECT_EQ(support::maps_of(path), 1U);
  EXPECT_EQ(fatctx_container_close(first, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(second, &error), FATCTX_OK);
  EXPECT_EQ(support::maps_of(path), 0U);
}

TEST_F(CModel, InfoIsTheJsonOfTheCommand) {
  const fatctx_container container = open();
  const auto info = [&](const fatctx_info_parts* parts) {
    return nlohmann::json::parse(text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return fatctx_container_info_json(container, parts, buffer, capacity, size, &error);
    }));
  };
  auto parts = sized<fatctx_info_parts>();

  const auto plain = info(nullptr);
  EXPECT_EQ(plain["schema"], "fatctx.info/1");
  EXPECT_EQ(plain["model"], "sample");
  EXPECT_EQ(plain["records"].size(), 7U);
  EXPECT_FALSE(plain.contains("graphs"));
  EXPECT_FALSE(plain.contains("options"));
  EXPECT_FALSE(plain.contains("tensors"));
  EXPECT_EQ(info(&parts), plain) << "the defaults are those of null";
  parts.graphs = 1;
  EXPECT_EQ(info(&parts)["graphs"].size(), 4U);
  EXPECT_FALSE(info(&parts).contains("options"));
  parts.graphs = 0;
  parts.options = 1;
  EXPECT_TRUE(info(&parts).contains("options"));
  EXPECT_FALSE(info(&parts).contains("graphs"));
  EXPECT_FALSE(info(&parts).contains("sharing"));
  parts.sharing = 1;
  const auto sharing = info(&parts)["sharing"];
  EXPECT_EQ(sharing["records"].size(), 7U);
  EXPECT_EQ(sharing["targets"].size(), 4U);
  EXPECT_EQ(sharing["totals"]["pages"].size(), 3U);
  EXPECT_GT(sharing["totals"]["bytes_at_most"], 0);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  const auto layout = nlohmann::json::parse(text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_layout_json(buffer, capacity, size, &error);
  }));
  EXPECT_EQ(layout["schema"], "fatctx.layout/1");
}

TEST_F(CModel, InfoListsTheTensorsOfAWeightBlobAsTheTableDoes) {
  const fatctx_container container = open();
  fatctx_tensor_table table = {};
  ASSERT_EQ(fatctx_container_tensors(container, 5, &table, &error), FATCTX_OK) << text_of(error);
  std::uint64_t count = 0;
  ASSERT_EQ(fatctx_tensor_table_size(table, &count, nullptr, &error), FATCTX_OK);
  auto parts = sized<fatctx_info_parts>();
  parts.tensors_of = 5;

  const auto json = nlohmann::json::parse(text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_container_info_json(container, &parts, buffer, capacity, size, &error);
  }));

  EXPECT_EQ(json["tensors"]["record"], 5);
  EXPECT_EQ(json["tensors"]["name"], "weights");
  ASSERT_GE(count, 2U);
  ASSERT_EQ(json["tensors"]["tensors"].size(), count);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto tensor = sized<fatctx_tensor_info>();
    ASSERT_EQ(fatctx_tensor_table_at(table, i, &tensor, &error), FATCTX_OK);
    EXPECT_EQ(json["tensors"]["tensors"][i]["name"], view_of(tensor.name));
    EXPECT_EQ(json["tensors"]["tensors"][i]["dtype"], fatctx_dtype_name(tensor.dtype));
    EXPECT_EQ(json["tensors"]["tensors"][i]["offset_in_blob"], tensor.offset_in_blob);
  }
  parts.tensors_of = 1;  // a context binary
  EXPECT_NE(fatctx_container_info_json(container, &parts, nullptr, 0, nullptr, &error), FATCTX_OK);
  EXPECT_NE(error.message[0], '\0');
  parts.tensors_of = 99;
  EXPECT_EQ(fatctx_container_info_json(container, &parts, nullptr, 0, nullptr, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_tensor_table_close(table, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CModel, InfoPartsOfAnotherAgeAreReadAsFarAsTheyGo) {
  const fatctx_container container = open();
  fatctx_info_parts parts = {offsetof(fatctx_info_parts, options), 1, 77, 99, 1, 1, 0};
  const auto ask = [&](const fatctx_info_parts* given) {
    return fatctx_container_info_json(container, given, nullptr, 0, nullptr, &error);
  };

  const auto older = nlohmann::json::parse(text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_container_info_json(container, &parts, buffer, capacity, size, &error);
  }));

  EXPECT_TRUE(older.contains("graphs"));
  EXPECT_FALSE(older.contains("options"));
  struct Newer {
    fatctx_info_parts known;
    std::uint64_t unknown;
  } newer = {};
  newer.known.struct_size = sizeof newer;
  EXPECT_EQ(ask(&newer.known), FATCTX_OK) << text_of(error);
  newer.unknown = 1;
  EXPECT_EQ(ask(&newer.known), FATCTX_ERROR_UNSUPPORTED);
  parts.struct_size = 0;
  EXPECT_EQ(ask(&parts), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CModel, AViewHoldsTheRecordsBytesAndItsFacts) {
  const fatctx_container container = open();
  fatctx_view view;
  ASSERT_EQ(fatctx_container_acquire_name(container, "weights", &view, &error), FATCTX_OK) << text_of(error);
  auto info = sized<fatctx_view_info>();
  ASSERT_EQ(fatctx_view_describe(view, &info, &error), FATCTX_OK);
  auto tensor = sized<fatctx_tensor_info>();

  EXPECT_TRUE(equal_bytes(view, weights_bytes()));
  EXPECT_EQ(info.record_id, 5U);
  EXPECT_EQ(info.is_tensor, 0U);
  EXPECT_EQ(info.data, view.data);
  EXPECT_EQ(info.size, view.size);
  EXPECT_STREQ(fatctx_access_path_name(info.access_path), "direct");
  EXPECT_EQ(fatctx_view_tensor(view, &tensor, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("whole record"));
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
}

TEST_F(CModel, TensorsAreListedAndViewedByNameAndByIndex) {
  const fatctx_container container = open();
  fatctx_tensor_table table;
  ASSERT_EQ(fatctx_container_tensors(container, 5, &table, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  std::uint64_t size = 0;
  std::uint32_t weights_id = 0;
  ASSERT_EQ(fatctx_tensor_table_size(table, &size, nullptr, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_tensor_table_size(table, &size, &weights_id, &error), FATCTX_OK);
  EXPECT_EQ(size, 2U);
  EXPECT_EQ(weights_id, 5U);
  auto listed = sized<fatctx_tensor_info>();
  ASSERT_EQ(fatctx_tensor_table_at(table, 1, &listed, &error), FATCTX_OK);
  EXPECT_EQ(view_of(listed.name), "layer/0/w");
  EXPECT_EQ(listed.strides_bytes, nullptr);

  fatctx_view by_name;
  fatctx_view by_index;
  ASSERT_EQ(fatctx_tensor_table_view(table, "layer/0/w", &by_name, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_tensor_table_view_at(table, 1, &by_index, &error), FATCTX_OK);
  fatctx_view none;
  EXPECT_EQ(fatctx_tensor_table_view(table, "layer/0/x", &none, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_tensor_table_view_at(table, 2, &none, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_tensor_table_at(table, ~std::uint64_t{0}, &listed, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_tensor_table_close(table, &error), FATCTX_OK);

  EXPECT_EQ(by_name.data, by_index.data);
  EXPECT_TRUE(equal_bytes(by_name, ByteView(weights_bytes()).subspan(64, 20'000)));
  auto tensor = sized<fatctx_tensor_info>();
  ASSERT_EQ(fatctx_view_tensor(by_name, &tensor, &error), FATCTX_OK);
  EXPECT_EQ(view_of(tensor.name), "layer/0/w");
  EXPECT_EQ(tensor.dtype, static_cast<std::uint32_t>(FATCTX_DTYPE_F32));
  EXPECT_THAT(std::vector(tensor.shape, tensor.shape + tensor.rank), ElementsAre(100, 50));
  EXPECT_THAT(std::vector(tensor.strides_bytes, tensor.strides_bytes + tensor.rank), ElementsAre(200, 4));
  EXPECT_EQ(tensor.offset_in_blob, 64U);
  EXPECT_EQ(tensor.size_bytes, 20'000U);
  EXPECT_EQ(fatctx_view_close(by_name, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_view_close(by_index, &error), FATCTX_OK);
}

TEST_F(CModel, ACopyOfAViewIsClosedOnItsOwn) {
  const fatctx_container container = open();
  fatctx_view view;
  fatctx_view copy;
  ASSERT_EQ(fatctx_container_acquire(container, 5, &view, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_view_copy(view, &copy, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);

  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);

  EXPECT_NE(copy.id, view.id);
  EXPECT_TRUE(equal_bytes(copy, weights_bytes()));
  EXPECT_EQ(fatctx_view_close(copy, &error), FATCTX_OK);
  EXPECT_EQ(support::maps_of(path), 0U);
}

// Shows S3.72, S4.54.
TEST_F(CModel, EveryOrderOfClosingLeavesTheViewsWhole) {
  std::array<int, 5> order = {0, 1, 2, 3, 4};
  do {
    const fatctx_container container = open();
    const fatctx_model model = choose(container);
    const fatctx_session session = begin(model);
    fatctx_view binary;
    fatctx_view tensor;
    ASSERT_EQ(fatctx_session_binary(session, nullptr, &binary, &error), FATCTX_OK);
    ASSERT_EQ(fatctx_session_tensor(session, "layer/0/b", &tensor, &error), FATCTX_OK);
    bool binary_open = true;
    bool tensor_open = true;
    for (const int next : order) {
      switch (next) {
        case 0:
          ASSERT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
          break;
        case 1:
          ASSERT_EQ(fatctx_model_close(model, &error), FATCTX_OK);
          break;
        case 2:
          ASSERT_EQ(fatctx_session_close(session, &error), FATCTX_OK);
          break;
        case 3:
          ASSERT_EQ(fatctx_view_close(binary, &error), FATCTX_OK);
          binary_open = false;
          break;
        default:
          ASSERT_EQ(fatctx_view_close(tensor, &error), FATCTX_OK);
          tensor_open = false;
      }
      ASSERT_TRUE(!binary_open || equal_bytes(binary, v3_bytes()));
      ASSERT_TRUE(!tensor_open || equal_bytes(tensor, ByteView(weights_bytes()).subspan(20'064, 77)));
    }
    ASSERT_EQ(support::maps_of(path), 0U);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(CModel, PartsOfALargerFileAreOpenedByDescriptor) {
  const Bytes bytes = support::read_file(path);
  Bytes larger = support::pattern(8192, 5);
  larger.insert(larger.end(), bytes.begin(), bytes.end());
  larger.resize(larger.size() + 5000, std::byte{7});
  const std::string package = folder.file("package");
  support::write_file(package, larger);
  fatctx_container container = {};
  {
    const mapping::UniqueFd descriptor = support::open_descriptor(package);
    EXPECT_EQ(fatctx_container_open_descriptor(descriptor.get(), 100, 0, nullptr, &container, &error),
              FATCTX_ERROR_INVALID_ARGUMENT);
    ASSERT_EQ(fatctx_container_open_descriptor(descriptor.get(), 8192, bytes.size(), nullptr, &container, &error),
              FATCTX_OK)
        << text_of(error);
  }

  fatctx_view view;
  ASSERT_EQ(fatctx_container_acquire(container, 5, &view, &error), FATCTX_OK);

  EXPECT_TRUE(equal_bytes(view, weights_bytes()));
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  EXPECT_NE(fatctx_container_open_descriptor(-1, 0, 0, nullptr, &container, &error), FATCTX_OK);
}

class CMemory : public CModel {
 protected:
  static void count(void* user) { ++*static_cast<int*>(user); }

  Bytes bytes = support::read_file(path);
  int released = 0;
};

TEST_F(CMemory, IsReleasedOnceWhenTheLastHandleGoes) {
  fatctx_container container = {};
  ASSERT_EQ(fatctx_container_open_memory(bytes.data(), bytes.size(), nullptr, &count, &released, &container, &error),
            FATCTX_OK)
      << text_of(error);
  fatctx_view view;
  ASSERT_EQ(fatctx_container_acquire(container, 5, &view, &error), FATCTX_OK);
  EXPECT_GE(static_cast<const std::byte*>(view.data), bytes.data());
  EXPECT_LT(static_cast<const std::byte*>(view.data), bytes.data() + bytes.size());

  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  EXPECT_EQ(released, 0);
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(released, 1);
}

TEST_F(CMemory, StaysWithTheCallerIfAnythingFails) {
  fatctx_container container = {};
  EXPECT_NE(fatctx_container_open_memory(bytes.data(), 100, nullptr, &count, &released, &container, &error), FATCTX_OK);
  auto options = sized<fatctx_model_options>();
  options.device = device("x86-64-v1");
  fatctx_view view;
  EXPECT_EQ(fatctx_view_open_memory(bytes.data(), bytes.size(), &options, nullptr, &count, &released, &view, &error),
            FATCTX_ERROR_NO_MATCH);
  EXPECT_EQ(fatctx_container_open_memory(bytes.data(), bytes.size(), nullptr, &count, &released, nullptr, &error),
            FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(released, 0);
  EXPECT_EQ(fatctx_device_close(options.device, &error), FATCTX_OK);
}

// Shows S4.55.
TEST_F(CMemory, OneCallOpensSelectsAndViews) {
  auto options = sized<fatctx_model_options>();
  options.device = device();
  fatctx_view from_memory;
  fatctx_view from_file;

  ASSERT_EQ(
      fatctx_view_open_memory(bytes.data(), bytes.size(), &options, nullptr, &count, &released, &from_memory, &error),
      FATCTX_OK)
      << text_of(error);
  ASSERT_EQ(fatctx_view_open(path.c_str(), &options, "main", &from_file, &error), FATCTX_OK) << text_of(error);

  EXPECT_TRUE(equal_bytes(from_memory, v3_bytes()));
  EXPECT_TRUE(equal_bytes(from_file, v3_bytes()));
  EXPECT_EQ(fatctx_view_close(from_memory, &error), FATCTX_OK);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(fatctx_view_open(path.c_str(), &options, "other", &from_memory, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_THAT(error.message, HasSubstr("main"));
  EXPECT_EQ(fatctx_view_close(from_file, &error), FATCTX_OK);
  EXPECT_EQ(support::maps_of(path), 0U);
  EXPECT_EQ(fatctx_device_close(options.device, &error), FATCTX_OK);
}

TEST_F(CModel, ReopenFindsTheFileThatTookThePlace) {
  const fatctx_container old = open();
  fatctx_view view;
  ASSERT_EQ(fatctx_container_acquire(old, 5, &view, &error), FATCTX_OK);
  PackOptions options;
  options.overwrite = true;
  ASSERT_TRUE(support::pack(support::mixed_records(), path, options).ok());
  fatctx_container fresh = {};

  ASSERT_EQ(fatctx_container_reopen(old, &fresh, &error), FATCTX_OK) << text_of(error);

  auto record = sized<fatctx_record_info>();
  EXPECT_EQ(fatctx_container_find(fresh, "wrapper", &record, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_find(old, "wrapper", &record, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_TRUE(equal_bytes(view, weights_bytes()));
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(old, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(fresh, &error), FATCTX_OK);
}

TEST_F(CModel, OpenOptionsReachTheOpen) {
  std::filesystem::create_symlink(path, folder.file("link"));
  auto options = sized<fatctx_open_options>();
  fatctx_open_options_init(&options, sizeof options);
  options.refuse_symlinks = 1;
  fatctx_container container = {};
  EXPECT_EQ(fatctx_container_open(folder.file("link").c_str(), &options, &container, &error),
            FATCTX_ERROR_NOT_REGULAR_FILE);
  options.refuse_symlinks = 0;
  options.verify = FATCTX_VERIFY_NONE;
  options.file_mapping = FATCTX_FILE_MAPPING_DISABLED;
  ASSERT_EQ(fatctx_container_open(folder.file("link").c_str(), &options, &container, &error), FATCTX_OK);
  auto report = sized<fatctx_open_report>();
  ASSERT_EQ(fatctx_container_report(container, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.verify, static_cast<std::uint32_t>(FATCTX_VERIFY_NONE));
  EXPECT_EQ(report.mapped, 0U);
  EXPECT_NE(report.copy_reason.size, 0U);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  options.verify = FATCTX_VERIFY_PRIVATE_COPY;
  ASSERT_EQ(fatctx_container_open(path.c_str(), &options, &container, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_container_report(container, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.verify, static_cast<std::uint32_t>(FATCTX_VERIFY_PRIVATE_COPY));
  EXPECT_EQ(view_of(report.copy_reason), "private copies were requested");
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  options.verify = FATCTX_VERIFY_BESIDE_LOAD;
  ASSERT_EQ(fatctx_container_open(path.c_str(), &options, &container, &error), FATCTX_OK);
  fatctx_view view = {};
  EXPECT_EQ(fatctx_container_acquire(container, 5, &view, &error), FATCTX_OK);
  const std::uint32_t ids[] = {5, 3};
  EXPECT_EQ(fatctx_container_await_checks(container, nullptr, 0, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_await_checks(container, ids, 2, &error), FATCTX_OK);
  const std::uint32_t missing = 77;
  EXPECT_EQ(fatctx_container_await_checks(container, &missing, 1, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  options.verify = 4;
  EXPECT_EQ(fatctx_container_open(path.c_str(), &options, &container, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  options.verify = 0;
  options.file_mapping = 3;
  EXPECT_EQ(fatctx_container_open(path.c_str(), &options, &container, &error), FATCTX_ERROR_INVALID_ARGUMENT);
}

struct Gathered {
  Bytes bytes;
  std::size_t stop_after = ~std::size_t{0};
  static std::int32_t take(void* user, const void* bytes, std::uint64_t size) {
    auto& self = *static_cast<Gathered*>(user);
    const auto* from = static_cast<const std::byte*>(bytes);
    self.bytes.insert(self.bytes.end(), from, from + size);
    return self.bytes.size() >= self.stop_after ? 1 : 0;
  }
};

TEST_F(CModel, ARecordIsStreamedUntilTheCallerStops) {
  const fatctx_container container = open();
  Gathered all;
  EXPECT_EQ(fatctx_container_stream(container, 5, &Gathered::take, &all, &error), FATCTX_OK);
  EXPECT_EQ(all.bytes, weights_bytes());

  Gathered some;
  some.stop_after = 1;
  EXPECT_EQ(fatctx_container_stream(container, 5, &Gathered::take, &some, &error), FATCTX_ERROR_CANCELLED);
  EXPECT_LT(some.bytes.size(), weights_bytes().size());
  const auto throwing = [](void*, const void*, std::uint64_t) -> std::int32_t { throw 7; };
  EXPECT_EQ(fatctx_container_stream(container, 5, throwing, nullptr, &error), FATCTX_ERROR_INTERNAL);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CModel, ARecordIsReadIntoMemoryOfTheCaller) {
  const fatctx_container container = open();
  Bytes out(weights_bytes().size());
  auto report = sized<fatctx_read_report>();
  auto options = sized<fatctx_read_options>();
  options.method = FATCTX_READ_CACHED;
  EXPECT_EQ(fatctx_container_read(container, 5, out.data(), out.size(), &options, &report, nullptr, nullptr, &error),
            FATCTX_OK);
  EXPECT_EQ(out, weights_bytes());
  EXPECT_EQ(report.method, static_cast<std::uint32_t>(FATCTX_READ_STREAMED));
  EXPECT_EQ(report.size_bytes, out.size());
  EXPECT_STRNE(report.reason, "");
  EXPECT_EQ(fatctx_container_read(container, 5, out.data(), out.size(), nullptr, nullptr, nullptr, nullptr, &error),
            FATCTX_OK);
  EXPECT_EQ(fatctx_container_read(container, 5, out.data(), out.size() - 1, nullptr, nullptr, nullptr, nullptr, &error),
            FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_container_read(container, 5, nullptr, out.size(), nullptr, nullptr, nullptr, nullptr, &error),
            FATCTX_ERROR_INVALID_ARGUMENT);
  options.method = FATCTX_READ_STREAMED;
  EXPECT_EQ(fatctx_container_read(container, 5, out.data(), out.size(), &options, nullptr, nullptr, nullptr, &error),
            FATCTX_ERROR_INVALID_ARGUMENT);
  const auto stop = [](void*, std::uint64_t, std::uint64_t) -> std::int32_t { return 1; };
  EXPECT_EQ(fatctx_container_read(container, 5, out.data(), out.size(), nullptr, nullptr, stop, nullptr, &error),
            FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CModel, ARecordIsExtractedOrNothingIsLeft) {
  const fatctx_container container = open();
  const std::string target = folder.file("weights.bin");
  const auto stop = [](void*, std::uint64_t, std::uint64_t) -> std::int32_t { return 1; };
  EXPECT_EQ(fatctx_container_extract(container, 5, target.c_str(), 0, stop, nullptr, &error), FATCTX_ERROR_CANCELLED);
  EXPECT_THAT(folder.names(), ElementsAre("model.fatctx"));

  EXPECT_EQ(fatctx_container_extract(container, 5, target.c_str(), 0, nullptr, nullptr, &error), FATCTX_OK);
  EXPECT_EQ(support::read_file(target), weights_bytes());
  EXPECT_EQ(fatctx_container_extract(container, 5, target.c_str(), 0, nullptr, nullptr, &error), FATCTX_ERROR_EXISTS);
  EXPECT_EQ(fatctx_container_extract(container, 3, target.c_str(), 1, nullptr, nullptr, &error), FATCTX_OK);
  EXPECT_EQ(support::read_file(target), v3_bytes());
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

struct Findings {
  std::vector<std::string> messages;
  std::uint64_t progress = 0;
  static void take(void* user, const fatctx_error* finding) {
    static_cast<Findings*>(user)->messages.emplace_back(finding->message);
  }
  static std::int32_t go_on(void* user, std::uint64_t done, std::uint64_t) {
    static_cast<Findings*>(user)->progress = done;
    return 0;
  }
};

TEST_F(CModel, DamageIsAFindingOfVerify) {
  Bytes bytes = support::read_file(path);
  {
    const fatctx_container container = open();
    auto record = sized<fatctx_record_info>();
    ASSERT_EQ(fatctx_container_record(container, 5, &record, &error), FATCTX_OK);
    bytes[static_cast<std::size_t>(record.file_offset) + 9] ^= std::byte{4};
    auto report = sized<fatctx_verify_report>();
    EXPECT_EQ(fatctx_container_verify(container, nullptr, &report, &error), FATCTX_OK);
    EXPECT_EQ(report.finding_count, 0U);
    EXPECT_GT(report.checked_bytes, 0U);
    EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  }
  support::write_file(path, bytes);
  const fatctx_container container = open();
  Findings findings;
  auto options = sized<fatctx_verify_options>();
  options.finding = &Findings::take;
  options.progress = &Findings::go_on;
  options.user = &findings;
  auto report = sized<fatctx_verify_report>();

  EXPECT_EQ(fatctx_container_verify(container, &options, &report, &error), FATCTX_OK);
  EXPECT_GT(report.finding_count, 0U);
  EXPECT_EQ(findings.messages.size(), report.finding_count);
  EXPECT_GT(findings.progress, 0U);
  findings.messages.clear();
  options.record_id = 5;
  EXPECT_EQ(fatctx_container_verify(container, &options, &report, &error), FATCTX_OK);
  EXPECT_EQ(findings.messages.size(), report.finding_count);
  EXPECT_GT(report.finding_count, 0U);
  EXPECT_LT(report.checked_bytes, bytes.size() / 2) << "of one record";
  options.record_id = 1;
  EXPECT_EQ(fatctx_container_verify(container, &options, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.finding_count, 0U);
  EXPECT_EQ(fatctx_verify_file(path.c_str(), &options, &report, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("record_id"));
  options.record_id = 0;
  EXPECT_EQ(fatctx_verify_file(path.c_str(), &options, &report, &error), FATCTX_OK);
  EXPECT_GT(report.finding_count, 0U);
  options.record_id = 99;
  EXPECT_EQ(fatctx_container_verify(container, &options, &report, &error), FATCTX_ERROR_NOT_FOUND);
  options.record_id = 0;
  options.progress = [](void*, std::uint64_t, std::uint64_t) -> std::int32_t { return -1; };
  EXPECT_EQ(fatctx_container_verify(container, &options, &report, &error), FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

}  // namespace container_test
}  // namespace fatctx::capi::testing
