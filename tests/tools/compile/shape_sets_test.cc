#include "tools/compile/shape_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace fatctx::tools {
namespace shape_sets_test {

using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

DescribedGraph graph_of(const std::vector<std::string>& inputs, std::int64_t fixed = -1) {
  DescribedGraph graph;
  for (const std::string& name : inputs) {
    DescribedTensor tensor;
    tensor.name = name;
    tensor.shape = {-1, fixed};
    graph.inputs.push_back(tensor);
  }
  return graph;
}

std::vector<std::string> units(const std::vector<std::string>& texts, const DescribedGraph& graph) {
  std::vector<InputShapes> wanted;
  for (const std::string& text : texts) wanted.push_back(parse_shapes(text).value());
  std::vector<std::string> names;
  const auto sets = shape_sets(wanted, graph);
  EXPECT_TRUE(is_ok(sets));
  for (const ShapeSet& set : sets.value()) names.push_back(set.unit);
  return names;
}

std::string error_of(const std::vector<std::string>& texts, const DescribedGraph& graph) {
  std::vector<InputShapes> wanted;
  for (const std::string& text : texts) wanted.push_back(parse_shapes(text).value());
  const auto sets = shape_sets(wanted, graph);
  return sets.ok() ? "" : sets.error().message;
}

TEST(ShapeSets, AFlagIsOneSetOfAnyNumberOfInputs) {
  const auto shapes = parse_shapes("input:0=1,3,320,320  mask=5");

  ASSERT_TRUE(is_ok(shapes));
  EXPECT_EQ(shapes.value(), (InputShapes{{"input:0", {1, 3, 320, 320}}, {"mask", {5}}}));
  EXPECT_EQ(shapes_text(shapes.value()), "input:0=1,3,320,320 mask=5");
}

TEST(ShapeSets, WhatIsNoShapeIsRefusedWithTheFormToWrite) {
  const std::pair<const char*, const char*> rows[] = {
      {"1,3", "has no name"},           {"=1", "has no name"},          {"x=", "\"\" is not a size"},
      {"x=1,,3", "\"\" is not a size"}, {"x=0", "\"0\" is not a size"}, {"x=1,-3", "\"-3\" is not a size"},
      {"x=1,", "\"\" is not a size"},   {"x=1.5", "\"1.5\""},           {"x=9999999999", "is not a size"},
      {" ", "there is no shape"},       {"x=1 x=2", "x appears twice"},
  };
  for (const auto& [text, why] : rows) {
    const auto shapes = parse_shapes(text);
    EXPECT_TRUE(fails_with(shapes, ErrorCode::kInvalidArgument)) << text;
    EXPECT_THAT(shapes.error().message, HasSubstr(why));
    EXPECT_THAT(shapes.error().message, HasSubstr("write NAME=SIZE,SIZE"));
  }
}

TEST(ShapeSets, OneSetNeedsNoUnitAndSeveralAreNamedAfterTheirShapes) {
  const DescribedGraph two = graph_of({"ids", "mask"});
  EXPECT_EQ(units({"ids=1,8"}, two), std::vector<std::string>{""});
  EXPECT_EQ(units({"ids=1,8", "ids=1,16"}, two), (std::vector<std::string>{"1x8", "1x16"}));
  EXPECT_EQ(units({"mask=1,8 ids=1,8", "ids=1,16 mask=1,4"}, two), (std::vector<std::string>{"1x8", "1x16_1x4"}));
}

TEST(ShapeSets, NamesThatWouldBeEqualAreWrittenInFull) {
  const DescribedGraph three = graph_of({"a", "b", "c"});
  EXPECT_EQ(units({"a=1,8 b=1,4 c=1,8", "a=1,8 b=1,4 c=1,4"}, three),
            (std::vector<std::string>{"1x8_1x4_1x8", "1x8_1x4_1x4"}));
}

TEST(ShapeSets, SetsThatCannotBeMeantAreRefused) {
  const DescribedGraph two = graph_of({"ids", "mask"});
  EXPECT_THAT(error_of({"ids=1,8", "ids=1,8"}, two), HasSubstr("--shape ids=1,8: this set appears twice"));
  EXPECT_THAT(error_of({"ids=1,8", "mask=1,8"}, two), HasSubstr("for one set write --shape 'ids=1,8 mask=1,8'"));
  EXPECT_THAT(error_of({"idz=1,8"}, two), HasSubstr("--shape: the model has no input \"idz\"; did you mean ids?"));
}

TEST(ShapeSets, TheRemedyIsAFlagWithALetterForEachOpenSize) {
  EXPECT_EQ(shape_flag_for(graph_of({"x"}, 3)), "--shape x=A,3");
  EXPECT_EQ(shape_flag_for(graph_of({"x", "y"})), "--shape 'x=A,B y=C,D'");
  EXPECT_EQ(shape_flag_for(DescribedGraph{}), "");
}

}  // namespace shape_sets_test
}  // namespace fatctx::tools
