// Every function of the headers with null, stale and foreign arguments. Shows S4.32.
#include "capi/entry_points.h"
#include "source_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

namespace fatctx::capi::testing {
namespace entry_points_test {

using support::read_file;

std::string text_of_file(const std::string& path) {
  const Bytes bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string text_of_c_headers() {
  std::string text;
  for (const auto& header : std::filesystem::directory_iterator(FATCTX_SOURCE_DIR "/include/fatctx/c")) {
    text += text_of_file(header.path().string());
  }
  return text;
}

// Functions that cannot fail: names for numbers, versions, and the _init functions.
std::set<std::string> infallible() {
  return {"fatctx_abi_version",
          "fatctx_library_version",
          "fatctx_format_version",
          "fatctx_error_init",
          "fatctx_error_code_name",
          "fatctx_record_type_name",
          "fatctx_dtype_name",
          "fatctx_level_name",
          "fatctx_axis_id",
          "fatctx_access_path_name",
          "fatctx_dtype_bits",
          "fatctx_record_type_from_name",
          "fatctx_dtype_from_name",
          "fatctx_open_options_init",
          "fatctx_model_options_init",
          "fatctx_pack_options_init",
          "fatctx_pack_record_init",
          "fatctx_prefetch_options_init",
          "fatctx_profile_options_init",
          "fatctx_rewrite_options_init",
          "fatctx_model_format_name",
          "fatctx_raw_binaries_name",
          "fatctx_raw_binaries_from_name",
          "fatctx_source_init",
          "fatctx_load_options_init",
          "fatctx_fetch_stage_name"};
}

TEST(CEntryPoints, AreAllInTheListThatTestsLoopOver) {
  const std::string header = text_of_c_headers();
  const std::regex declaration(R"(FATCTX_API [\w* ]*?(fatctx_\w+)\()");
  std::set<std::string> declared;
  for (std::sregex_iterator at(header.begin(), header.end(), declaration), end; at != end; ++at)
    declared.insert((*at)[1]);

  std::set<std::string> listed = infallible();
  for (const EntryPoint& entry : entry_points()) listed.insert(entry.name);
  EXPECT_THAT(listed, ::testing::ContainerEq(declared));
  EXPECT_EQ(listed.size(), infallible().size() + entry_points().size());
}

class CEntryPointsOn : public CModel {
 protected:
  CEntryPointsOn() : memory(read_file(path)) {}
  std::int32_t run(const EntryPoint& entry, const Handles& handles, bool given, fatctx_error* told) {
    Call call(handles, given, path, &memory, folder.file("out"));
    const std::int32_t code = entry.call(call);
    *told = call.error;
    return code;
  }
  // Checks that the error has the code that the function returned.
  void expect_told(const EntryPoint& entry, std::int32_t code, const fatctx_error& told) {
    if (std::string_view(entry.name) == "fatctx_error_text") return;  // this function reads the error
    EXPECT_EQ(told.code, code) << entry.name;
    EXPECT_EQ(told.message[0] == '\0', code == FATCTX_OK) << entry.name << ": " << told.message;
  }

  Bytes memory;
};

TEST_F(CEntryPointsOn, NullHandlesAndPointersNoneCrashes) {
  for (const EntryPoint& entry : entry_points()) {
    fatctx_error told;
    const std::int32_t code = run(entry, {}, false, &told);
    EXPECT_EQ(code, entry.with_nulls) << entry.name << ": " << told.message;
    expect_told(entry, code, told);
  }
}

TEST_F(CEntryPointsOn, GoodHandlesAndNullPointersNoneCrashes) {
  for (const EntryPoint& entry : entry_points()) {
    const Handles handles = open_all(path);
    fatctx_error told;
    const std::int32_t code = run(entry, handles, false, &told);
    EXPECT_EQ(code, entry.with_null_pointers) << entry.name << ": " << told.message;
    close_all(handles);
  }
}

TEST_F(CEntryPointsOn, GoodArgumentsEachSucceeds) {
  for (const EntryPoint& entry : entry_points()) {
    const Handles handles = open_all(path);
    fatctx_error told;
    const std::int32_t code = run(entry, handles, true, &told);
    EXPECT_EQ(code, entry.with_good) << entry.name << ": " << told.message;
    expect_told(entry, code, told);
    close_all(handles);
  }
}

TEST_F(CEntryPointsOn, ClosedHandlesEachAnswersStaleHandle) {
  const Handles closed = open_all(path);
  close_all(closed);
  const Handles others = open_all(path);  // these take the slots of the closed handles
  for (const EntryPoint& entry : entry_points()) {
    if (!entry.takes_handle) continue;
    fatctx_error told;
    const std::int32_t code = run(entry, closed, true, &told);
    EXPECT_EQ(code, FATCTX_ERROR_STALE_HANDLE) << entry.name << ": " << told.message;
    expect_told(entry, code, told);
  }
  close_all(others);
}

TEST_F(CEntryPointsOn, HandlesOfAnotherKindEachAnswersStaleHandle) {
  const Handles good = open_all(path);
  Handles turned;
  turned.device.id = good.container.id;
  turned.container.id = good.model.id;
  turned.model.id = good.session.id;
  turned.session.id = good.table.id;
  turned.table.id = good.view.id;
  turned.view.id = good.packer.id;
  turned.packer.id = good.device.id;
  turned.provider.id = good.allocator.id;
  turned.allocator.id = good.access.id;
  turned.access.id = good.prefetch.id;
  turned.prefetch.id = good.lock.id;
  turned.lock.id = good.report.id;
  turned.report.id = good.lock.id;
  turned.with_dlc.id = good.view.id;
  turned.thin.id = good.with_dlc.id;
  turned.appender.id = good.packer.id;
  turned.socs.id = good.device.id;
  turned.detected.id = good.socs.id;
  turned.load_signal.id = good.load_list.id;
  turned.load_list.id = good.load_signal.id;
  turned.fetch_plan.id = good.appender.id;
  for (const EntryPoint& entry : entry_points()) {
    if (!entry.takes_handle) continue;
    fatctx_error told;
    EXPECT_EQ(run(entry, turned, true, &told), FATCTX_ERROR_STALE_HANDLE) << entry.name;
    EXPECT_THAT(told.message, ::testing::HasSubstr("is needed")) << entry.name;
  }
  close_all(good);
}

TEST_F(CEntryPointsOn, MadeUpHandlesEachAnswersStaleHandle) {
  for (const std::uint64_t id :
       {std::uint64_t{1}, std::uint64_t{0xDEADBEEF}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    const Handles made_up{{id}, {id}, {id}, {id}, {id}, {id, nullptr, 0}, {id}, {id}, {id},
                          {id}, {id}, {id}, {id}, {id}, {id, nullptr, 0}, {id}, {id}, {id},
                          {id}, {id}, {id}};
    for (const EntryPoint& entry : entry_points()) {
      if (!entry.takes_handle) continue;
      fatctx_error told;
      EXPECT_EQ(run(entry, made_up, true, &told), FATCTX_ERROR_STALE_HANDLE) << entry.name << " " << id;
    }
  }
}

TEST_F(CEntryPointsOn, NoErrorWantedEachWorksAllTheSame) {
  const fatctx_container container = open();
  EXPECT_EQ(fatctx_container_close(container, nullptr), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, nullptr), FATCTX_ERROR_STALE_HANDLE);
}

}  // namespace entry_points_test
}  // namespace fatctx::capi::testing
