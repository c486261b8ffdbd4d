// The intermediate files of a compilation, read back.
#include "runtime/ort/graph/graph_tensors.h"

#include <limits>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/onnx_file.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::ort {
namespace staged_graph_test {

using support::fails_with;
using support::is_ok;
using support::Message;
using support::OnnxGraph;
using support::OnnxTensor;
using ::testing::HasSubstr;

ByteView view_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class Staged : public ::testing::Test {
 protected:
  std::string file(const std::string& bytes) {
    support::write_file(folder_.file("m.onnx"), view_of(bytes));
    return folder_.file("m.onnx");
  }
  support::TempDir folder_;
};

// Returns a model whose y comes from a branch with a weight in external data.
std::string with_a_branch(const OnnxTensor& weight) {
  OnnxGraph branch;
  branch.name = "branch";
  branch.tensors = {weight};
  branch.nodes = {support::node("Identity", {weight.name}, "b")};
  branch.outputs = {support::value("b", weight.shape)};
  Message choice = support::node("If", {"c"}, "y");
  for (const char* name : {"then_branch", "else_branch"}) {
    choice.message(5, Message().text(1, name).message(6, support::graph(branch)).number(20, 5));
  }
  OnnxGraph net;
  net.nodes = {choice};
  net.inputs = {support::value("c", {}, support::kOnnxBool)};
  net.outputs = {support::value("y", weight.shape)};
  return support::model(net);
}

TEST_F(Staged, WhatIsMissingOrNoModelIsNamed) {
  const auto missing = StagedGraph::read(folder_.file("gone.onnx"));
  ASSERT_TRUE(fails_with(missing, ErrorCode::kNotFound));
  EXPECT_THAT(missing.error().message, HasSubstr("gone.onnx: cannot be read"));
  const auto other = StagedGraph::read(file("no model"));
  ASSERT_TRUE(fails_with(other, ErrorCode::kMalformed));
  EXPECT_THAT(other.error().message, HasSubstr("m.onnx: not an ONNX model"));
}

TEST_F(Staged, WeightsOfInnerGraphsAreTakenIn) {
  const OnnxTensor weight = {.name = "w", .shape = {4}, .offset = 16, .size = 16};
  const std::string path = file(with_a_branch(weight));
  const auto no_file = StagedGraph::read(path);
  ASSERT_TRUE(fails_with(no_file, ErrorCode::kTruncated));
  EXPECT_THAT(no_file.error().message, HasSubstr("w.bin: initializer \"w\" cannot be read from it"));

  support::write_file(folder_.file("w.bin"), view_of(std::string(31, 'a')));
  EXPECT_TRUE(fails_with(StagedGraph::read(path), ErrorCode::kTruncated)) << "one byte is missing";

  support::write_file(folder_.file("w.bin"), view_of(std::string(16, 'a') + "sixteen letters!"));
  const auto whole = StagedGraph::read(path);
  ASSERT_TRUE(is_ok(whole));
  EXPECT_TRUE(whole.value().tensors().empty());
  const auto bytes = whole.value().bytes();
  ASSERT_TRUE(is_ok(bytes));
  EXPECT_THAT(std::string(reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size()),
              HasSubstr("sixteen letters!"));
}

TEST_F(Staged, APlaceThatIsNotSaidWholeIsMalformed) {
  OnnxTensor tensor = {.name = "w0", .shape = {24, 24}, .location = ""};
  const std::string nowhere = support::model(support::matrices(24, {tensor}));
  const auto found = external_tensors(view_of(nowhere), "main");
  ASSERT_TRUE(fails_with(found, ErrorCode::kMalformed));
  EXPECT_THAT(found.error().message, HasSubstr("record \"main\": initializer \"w0\" does not say where it is stored"));
}

TEST_F(Staged, AModelHoldsTwoGigabytes) {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  EXPECT_TRUE(is_ok(check_model_size(kMost)));
  const auto larger = check_model_size(kMost + 1);
  ASSERT_TRUE(fails_with(larger, ErrorCode::kLimitExceeded));
  EXPECT_THAT(larger.error().message, HasSubstr("let the nodes take large tensors as inputs instead of attributes"));
}

}  // namespace staged_graph_test
}  // namespace fatctx::ort
