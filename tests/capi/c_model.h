// A container on disk and a handle of every kind on it, for tests of the C interface.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fatctx/container.h"
#include "fatctx/fatctx.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx::capi::testing {

using support::Bytes;
using support::TempDir;

// Returns an error in which every written byte can be recognized.
inline fatctx_error fresh_error() {
  fatctx_error error;
  fatctx_error_init(&error, sizeof error);
  return error;
}

inline std::string text_of(const fatctx_error& error) {
  char line[2048];
  EXPECT_EQ(fatctx_error_text(&error, line, sizeof line, nullptr), FATCTX_OK);
  return line;
}
inline std::string_view view_of(const fatctx_text& text) { return {text.data, static_cast<std::size_t>(text.size)}; }

template <typename Sized>
Sized sized() {
  Sized value = {};
  value.struct_size = sizeof value;
  return value;
}

// Calls `write(buffer, capacity, size)` twice, as a C program would: for the size, then for the text.
template <typename Write>
std::string text_from(const Write& write) {
  std::size_t size = 0;
  EXPECT_EQ(write(nullptr, std::size_t{0}, &size), FATCTX_OK);
  std::string text(size + 1, '#');
  EXPECT_EQ(write(text.data(), text.size(), static_cast<std::size_t*>(nullptr)), FATCTX_OK);
  EXPECT_EQ(text.back(), '\0');
  text.pop_back();
  return text;
}

// The JSON that `write` gives.
template <typename Write>
nlohmann::json json_from(const Write& write) {
  return nlohmann::json::parse(text_from(write));
}
// The JSON of a report, which is closed.
inline nlohmann::json json_of(fatctx_report report) {
  const auto json = json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_report_text(report, FATCTX_FORMAT_JSON, buffer, capacity, size, nullptr);
  });
  EXPECT_EQ(fatctx_report_close(report, nullptr), FATCTX_OK);
  return json;
}

inline bool equal_bytes(const fatctx_view& view, ByteView expected) {
  return view.size == expected.size() && std::memcmp(view.data, expected.data(), expected.size()) == 0;
}

// Returns the bytes of "cpu-x86-64-v3", the second record of cpu_records().
inline Bytes v3_bytes() { return support::pattern(300 + 37 * 2, 2); }
inline Bytes weights_bytes() { return support::pattern(support::kSampleWeightsSize, 11); }

// A fixture with the model of support::cpu_records() in a folder that the test removes.
class CModel : public ::testing::Test {
 protected:
  CModel() : path(folder.file("model.fatctx")) {
    PackOptions options;
    options.model_name = "sample";
    const auto report = support::pack(support::cpu_records(), path, options);
    if (!report.ok()) throw std::runtime_error(to_text(report.error()));
  }

  [[nodiscard]] fatctx_container open(const fatctx_open_options* options = nullptr) {
    fatctx_container container = {};
    EXPECT_EQ(fatctx_container_open(path.c_str(), options, &container, &error), FATCTX_OK) << text_of(error);
    return container;
  }
  // Opens a fixed device, so that the test does the same on every machine.
  [[nodiscard]] fatctx_device device(const char* text = "x86-64-v3") {
    fatctx_device device = {};
    EXPECT_EQ(fatctx_device_parse(text, &device, &error), FATCTX_OK) << text_of(error);
    return device;
  }
  [[nodiscard]] fatctx_model choose(fatctx_container container) {
    auto options = sized<fatctx_model_options>();
    options.device = device();
    fatctx_model model = {};
    EXPECT_EQ(fatctx_model_choose(container, &options, &model, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(fatctx_device_close(options.device, &error), FATCTX_OK);
    return model;
  }
  [[nodiscard]] fatctx_session begin(fatctx_model model) {
    fatctx_session session = {};
    EXPECT_EQ(fatctx_model_begin_session(model, &session, &error), FATCTX_OK) << text_of(error);
    return session;
  }

  TempDir folder;
  std::string path;
  fatctx_error error = fresh_error();
};

}  // namespace fatctx::capi::testing
