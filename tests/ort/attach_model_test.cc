// The parts of an ONNX model that are read. For any bytes the reader gives an answer and does nothing else.
#include "runtime/ort/attach/attach_model.h"

#include <set>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/ort/attach/element_types.h"
#include "support/onnx_file.h"
#include "support/result_matchers.h"

namespace fatctx::ort {

namespace attach_model_test {

using support::fails_with;
using support::is_ok;
using support::Message;
using support::OnnxGraph;
using ::testing::HasSubstr;

ByteView view_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string matrices_model() {
  return support::model(support::matrices(8, {{.name = "w0", .shape = {8, 8}, .offset = 64, .size = 256},
                                              {.name = "w1", .shape = {8, 8}, .offset = 320, .location = "b/w.bin"}}));
}

TEST(AttachModel, SaysWhereTheInitializersOfTheMainGraphLie) {
  const std::string model = matrices_model();

  const auto tensors = external_tensors(view_of(model));

  ASSERT_TRUE(is_ok(tensors));
  ASSERT_EQ(tensors.value().size(), 2U);
  const ModelTensor& first = tensors.value()[0];
  EXPECT_EQ(first.name, "w0");
  EXPECT_EQ(first.type, 1);
  EXPECT_EQ(first.shape, (std::vector<std::uint64_t>{8, 8}));
  EXPECT_EQ(first.location, "w.bin");
  EXPECT_EQ(first.offset, 64U);
  EXPECT_EQ(first.size_bytes, 256U);
  EXPECT_FALSE(first.inner);
  EXPECT_EQ(tensors.value()[1].location, "b/w.bin");
  EXPECT_EQ(tensors.value()[1].size_bytes, std::nullopt);
}

TEST(AttachModel, TensorsInsideOfTheModelDoNotCount) {
  const Message inside = Message().number(1, 2).number(2, 1).text(8, "bias").text(9, "12345678");
  const std::string model = Message().message(7, Message().message(5, inside)).bytes();

  const auto tensors = external_tensors(view_of(model));

  ASSERT_TRUE(is_ok(tensors));
  EXPECT_TRUE(tensors.value().empty());
}

TEST(AttachModel, EveryPlaceOfATensorIsLookedAt) {
  const Message tensor = support::tensor({.name = "t", .shape = {4}, .offset = 16, .size = 16});
  const Message sparse_values = Message().message(1, tensor);
  const Message sparse_indices = Message().message(2, tensor);
  const auto node_with = [](std::uint32_t field, const Message& value) {
    return Message().message(5, Message().text(1, "a").message(field, value));
  };
  const auto in_graph = [](std::uint32_t field, const Message& value) {
    return Message().message(7, Message().message(field, value)).bytes();
  };
  const Message graph = Message().message(5, tensor);
  const std::string models[] = {
      in_graph(15, sparse_values),
      in_graph(15, sparse_indices),
      in_graph(1, node_with(5, tensor)),
      in_graph(1, node_with(6, graph)),
      in_graph(1, node_with(10, tensor)),
      in_graph(1, node_with(11, graph)),
      in_graph(1, node_with(22, sparse_values)),
      in_graph(1, node_with(23, sparse_values)),
      in_graph(1, node_with(6, Message().message(1, node_with(6, graph)))),
      Message().message(7, Message()).message(25, Message().message(7, node_with(5, tensor))).bytes(),
  };

  for (const std::string& model : models) {
    const auto tensors = external_tensors(view_of(model));
    ASSERT_TRUE(is_ok(tensors));
    ASSERT_EQ(tensors.value().size(), 1U) << &model - models;
    EXPECT_TRUE(tensors.value()[0].inner);
    EXPECT_EQ(tensors.value()[0].offset, 16U);
  }
}

TEST(AttachModel, SaysWhichTensorsOnnxRuntimeReplacesByName) {
  const Message tensor = support::tensor({.name = "t", .shape = {4}, .offset = 16, .size = 16});
  const auto attribute = [](std::uint32_t field, const Message& value) {
    return Message().message(5, Message().text(1, "a").message(field, value));
  };
  const Message constant = support::node("Constant", {}, "c").message(5, Message().text(1, "value").message(5, tensor));
  const auto in_body = [&](std::uint32_t field, const Message& value) {
    return Message().message(1, attribute(6, Message().message(field, value)));
  };
  struct Row {
    Message model;
    const char* name;
    bool inner;
    bool by_name;
  };
  const Row rows[] = {
      {Message().message(7, Message().message(5, tensor)), "t", false, true},
      {Message().message(7, Message().message(1, constant)), "c", false, true},
      {Message().message(7, Message().message(1, attribute(5, tensor))), "t", true, false},
      {Message().message(7, Message().message(15, Message().message(1, tensor))), "t", true, false},
      {Message().message(7, in_body(5, tensor)), "t", true, true},
      {Message().message(7, in_body(1, constant)), "c", true, true},
      {Message().message(7, Message()).message(25, Message().message(7, constant)), "t", true, false},
      {Message().message(7, Message()).message(25, Message().message(7, attribute(6, Message().message(5, tensor)))),
       "t", true, false},
      {Message().message(7, Message()).message(25, Message().message(7, attribute(6, Message().message(1, constant)))),
       "c", true, false},
  };

  for (const Row& row : rows) {
    const std::string model = row.model.bytes();
    const auto tensors = external_tensors(view_of(model));
    ASSERT_TRUE(is_ok(tensors));
    ASSERT_EQ(tensors.value().size(), 1U) << &row - rows;
    EXPECT_EQ(tensors.value()[0].name, row.name) << &row - rows;
    EXPECT_EQ(tensors.value()[0].inner, row.inner) << &row - rows;
    EXPECT_EQ(tensors.value()[0].by_name, row.by_name) << &row - rows;
  }
}

TEST(AttachModel, PackedDimensionsAreTheSame) {
  std::string packed;
  packed += '\x03';
  packed += "\xAC\x02";  // 300
  const Message tensor =
      Message().text(1, packed).number(2, 1).text(8, "w").message(13, support::entry("location", "f"));
  const std::string model = Message().message(7, Message().message(5, Message(tensor).number(14, 1))).bytes();

  const auto tensors = external_tensors(view_of(model));

  ASSERT_TRUE(is_ok(tensors));
  EXPECT_EQ(tensors.value().at(0).shape, (std::vector<std::uint64_t>{3, 300}));
}

TEST(AttachModel, ADeepModelDoesNotEndTheProcess) {
  Message graph = Message().message(5, support::tensor({.name = "t", .shape = {4}, .offset = 0}));
  for (int depth = 0; depth < 2'000; ++depth) {
    graph = Message().message(1, Message().message(5, Message().message(6, graph)));
  }
  const std::string model = Message().message(7, graph).bytes();

  EXPECT_TRUE(is_ok(external_tensors(view_of(model))));
}

TEST(AttachModel, ExternalDataThatMakesNoSenseIsMalformed) {
  const auto model_of = [](const Message& entry) {
    const Message tensor = Message().number(2, 1).text(8, "w0").message(13, entry).number(14, 1);
    return Message().message(7, Message().message(5, tensor)).bytes();
  };
  const std::string no_location = model_of(support::entry("offset", "0"));
  const auto nowhere = external_tensors(view_of(no_location));
  ASSERT_TRUE(fails_with(nowhere, ErrorCode::kMalformed));
  EXPECT_THAT(nowhere.error().message, HasSubstr("tensor \"w0\" has external data without a location"));
  for (const char* text : {"", "-1", "1e3", "0x10", "99999999999999999999999"}) {
    const std::string bad = model_of(support::entry("offset", text));
    const auto tensors = external_tensors(view_of(bad));
    ASSERT_TRUE(fails_with(tensors, ErrorCode::kMalformed)) << text;
    EXPECT_THAT(tensors.error().message, HasSubstr("tensor \"w0\": the offset of its external data is \"" +
                                                   std::string(text) + "\", not a whole number"));
  }
}

TEST(AttachModel, WhatIsNoModelIsMalformedAndSaysWhy) {
  const std::pair<std::string, std::string> rows[] = {
      {"", "it has no graph"},
      {Message().number(1, 9).bytes(), "it has no graph"},
      {"no model", "a field of wire type 6"},
      {std::string(40, '\xFF'), "a number of more than ten bytes"},
      {Message().number(7, 9).bytes(), "field 7 is not a message"},
      {Message().message(7, Message().text(2, "net")).bytes().substr(0, 4), "it ends inside a field"},
  };
  for (const auto& [bytes, why] : rows) {
    const auto tensors = external_tensors(view_of(bytes));
    ASSERT_TRUE(fails_with(tensors, ErrorCode::kMalformed)) << bytes;
    EXPECT_THAT(tensors.error().message, HasSubstr("the bytes given as model are no ONNX model: " + why));
  }
}

TEST(AttachModel, EveryPrefixAndEveryFlippedBitHasAnAnswer) {
  const std::string model = matrices_model();
  for (std::size_t size = 0; size < model.size(); ++size) {
    const std::string prefix = model.substr(0, size);
    const auto tensors = external_tensors(view_of(prefix));
    EXPECT_TRUE(tensors.ok() || tensors.error().code == ErrorCode::kMalformed);
  }
  for (std::size_t bit = 0; bit < model.size() * 8; ++bit) {
    std::string damaged = model;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto tensors = external_tensors(view_of(damaged));
    EXPECT_TRUE(tensors.ok() || tensors.error().code == ErrorCode::kMalformed);
  }
}

TEST(AttachTypes, EveryTypeOfATableHasANumberOfOnnx) {
  std::set<std::int32_t> numbers;
  for (std::uint16_t number = 1; dtype_bits(static_cast<DType>(number)) != 0; ++number) {
    const auto dtype = static_cast<DType>(number);
    ASSERT_NE(onnx_type(dtype), 0) << dtype_name(dtype);
    EXPECT_EQ(dtype_of(onnx_type(dtype)), dtype);
    numbers.insert(onnx_type(dtype));
  }
  EXPECT_EQ(numbers.size(), 15U);
  EXPECT_EQ(dtype_of(17), std::nullopt) << "8-bit floats";
  EXPECT_EQ(onnx_type(static_cast<DType>(99)), 0);
}

}  // namespace attach_model_test
}  // namespace fatctx::ort
