// Shows S5.5.
#include "tools/onnx/onnx_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "support/result_matchers.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace onnx_weights_test {

using support::fails_with;
using support::is_ok;
using support::TempDir;
using ::testing::HasSubstr;

class OnnxExternalData : public ::testing::Test {
 protected:
  OnnxExternalData() { support::write_text(data_, std::string(64, 'w') + std::string(5, 'b')); }

  Result<OnnxWeights> weights(const onnx::ModelProto& proto) const {
    support::write_model(model_, proto);
    FATCTX_ASSIGN(const OnnxModel model, read_onnx(model_));
    return external_weights(model, model_, model.external_files.at(0));
  }
  static void set(onnx::ModelProto& proto, int initializer, const std::string& key, const std::string& value) {
    for (auto& entry : *proto.mutable_graph()->mutable_initializer(initializer)->mutable_external_data()) {
      if (entry.key() == key) entry.set_value(value);
    }
  }

  TempDir folder_;
  std::string model_ = folder_.file("m.onnx");
  std::string data_ = folder_.file("m.data");
};

TEST_F(OnnxExternalData, InitializersAreTensorsAtTheirOffsets) {
  const auto found = weights(support::external_model("m.data"));

  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(std::filesystem::path(found.value().path), std::filesystem::path(data_));
  ASSERT_EQ(found.value().tensors.size(), 2U);
  EXPECT_EQ(found.value().tensors[0].name, "layer/w");
  EXPECT_EQ(found.value().tensors[0].dtype, DType::kF32);
  EXPECT_EQ(found.value().tensors[0].shape, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(found.value().tensors[1].offset_in_blob, 64U);
  EXPECT_EQ(found.value().tensors[1].size_bytes, 5U);
  EXPECT_FALSE(found.value().tensors[1].alias);
  ASSERT_EQ(found.value().options.size(), 1U);
  EXPECT_EQ(found.value().options[0].key, kOnnxLocation);
  EXPECT_EQ(found.value().options[0].value, "m.data");
}

TEST_F(OnnxExternalData, InitializersThatShareBytesAreAliases) {
  auto proto = support::external_model("m.data");
  set(proto, 1, "offset", "8");

  const auto found = weights(proto);

  ASSERT_TRUE(is_ok(found));
  EXPECT_TRUE(found.value().tensors[0].alias);
  EXPECT_TRUE(found.value().tensors[1].alias);
}

TEST_F(OnnxExternalData, AnEightBitFloatIsBytesAndDescribed) {
  auto proto = support::external_model("m.data");
  proto.mutable_graph()->mutable_initializer(1)->set_data_type(17);

  const auto found = weights(proto);

  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value().tensors[1].dtype, DType::kU8);
  ASSERT_EQ(found.value().options.size(), 2U);
  EXPECT_EQ(found.value().options[1].key, "tensor.bias.type");
  EXPECT_EQ(found.value().options[1].value, "float8e4m3fn [5]");
}

TEST_F(OnnxExternalData, WhatIsNotSoIsRefused) {
  struct Lie {
    const char* name;
    std::function<void(onnx::ModelProto&)> change;
    ErrorCode code;
    const char* says;
  };
  const Lie lies[] = {
      {"behind the end", [](auto& m) { set(m, 1, "offset", "65"); }, ErrorCode::kTruncated,
       "initializer \"bias\", 5 bytes at 65, leaves the 69 bytes"},
      {"an offset that wraps", [](auto& m) { set(m, 1, "offset", "18446744073709551615"); }, ErrorCode::kTruncated,
       "leaves the 69 bytes"},
      {"another size", [](auto& m) { set(m, 1, "length", "4"); }, ErrorCode::kMalformed,
       "initializer \"bias\" has 4 bytes of external data, but int8 [5] takes 5"},
      {"a negative offset", [](auto& m) { set(m, 1, "offset", "-1"); }, ErrorCode::kMalformed, "not a whole number"},
      {"an offset with a unit", [](auto& m) { set(m, 1, "offset", "64K"); }, ErrorCode::kMalformed,
       "not a whole number"},
      {"an offset of 65 bits", [](auto& m) { set(m, 1, "offset", "18446744073709551616"); }, ErrorCode::kMalformed,
       "not a whole number"},
      {"no location", [](auto& m) { set(m, 1, "location", ""); }, ErrorCode::kMalformed, "without a location"},
      {"a file that is not there", [](auto& m) { set(m, 0, "location", "a"); }, ErrorCode::kNotFound, "not there"},
      {"a folder", [](auto& m) { set(m, 0, "location", "."); }, ErrorCode::kNotRegularFile, "not a regular file"},
      {"a place above", [](auto& m) { set(m, 0, "location", "../m.data"); }, ErrorCode::kMalformed, "\"..\""},
      {"an absolute place", [](auto& m) { set(m, 0, "location", "/m.data"); }, ErrorCode::kMalformed, "below"},
  };
  for (const Lie& lie : lies) {
    auto proto = support::external_model("m.data");
    lie.change(proto);

    const auto found = weights(proto);

    ASSERT_FALSE(found.ok()) << lie.name;
    EXPECT_EQ(found.error().code, lie.code) << lie.name << ": " << to_text(found.error());
    EXPECT_THAT(found.error().message, HasSubstr(lie.says)) << lie.name;
  }
}

TEST_F(OnnxExternalData, AFileThatTheModelDoesNotNameIsNoneOfIt) {
  support::write_model(model_, support::external_model("m.data"));
  const auto model = read_onnx(model_);
  ASSERT_TRUE(is_ok(model));

  EXPECT_EQ(location_of(model.value(), model_, folder_.path() + "/./m.data").value(), "m.data");
  EXPECT_TRUE(fails_with(location_of(model.value(), model_, model_), ErrorCode::kInvalidArgument));
}

}  // namespace onnx_weights_test
}  // namespace fatctx::tools
