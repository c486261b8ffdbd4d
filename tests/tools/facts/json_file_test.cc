#include "tools/facts/json_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::tools {
namespace json_file_test {

using support::fails_with;
using support::is_ok;

TEST(ParseJson, CommentsAreAllowed) {
  const auto document = parse_json("// first\n{\"a\": /* inside */ 1}", "m.json");
  ASSERT_TRUE(is_ok(document));
  EXPECT_EQ(document.value(), Json({{"a", 1}}));
}

TEST(ParseJson, WhatLooksLikeACommentInATextIsNone) {
  const auto document = parse_json(R"({"a": "// \" /* x */", "b\\": 2 /* " */, "c": [3] // "
})",
                                   "m.json");
  ASSERT_TRUE(is_ok(document));
  EXPECT_EQ(document.value(), Json({{"a", "// \" /* x */"}, {"b\\", 2}, {"c", std::vector<int>{3}}}));
}

TEST(ParseJson, ACommentChangesNoPositionAndNeedsAnEnd) {
  const struct {
    const char* text;
    const char* place;
  } cases[] = {{"/* one\ntwo */ x", "line 2, column 8"},
               {"{} // one\n x", "line 2, column 2"},
               {"[1, /* 2]", "line 1, column 5"},
               {"[1 / 2]", "line 1, column 4"},
               {"[1/**/2]", "line 1, column 7"}};
  for (const auto& c : cases) {
    const auto document = parse_json(c.text, "m.json");
    ASSERT_TRUE(fails_with(document, ErrorCode::kInvalidArgument)) << c.text;
    EXPECT_THAT(document.error().message, ::testing::StartsWith(fmt::format("m.json: {}: not JSON: ", c.place)));
  }
}

TEST(ParseJson, ACommentWithoutAnEndIsCalledSo) {
  EXPECT_EQ(parse_json("{\"a\": /* 1}", "m.json").error().message,
            "m.json: line 1, column 7: not JSON: the comment that begins here has no end");
}

TEST(ParseJson, AnErrorNamesFileLineAndColumn) {
  const auto document = parse_json("{\n  \"a\": 1,\n}", "m.json");
  ASSERT_TRUE(fails_with(document, ErrorCode::kInvalidArgument));
  EXPECT_EQ(document.error().message, "m.json: line 3, column 1: not JSON: found } behind a comma; take the comma out");
}

TEST(ParseJson, AnErrorTellsABytesNumberAndWhereATextEndsTooEarly) {
  EXPECT_EQ(parse_json("{\x01}", "m.json").error().message,
            "m.json: line 1, column 2: not JSON: found byte 0x01 where it is not allowed");
  EXPECT_EQ(parse_json("{\"a\": \"b\"\n \"c\": 1}", "m.json").error().message,
            "m.json: line 2, column 2: not JSON: found \", and a comma or a colon is missing before it");
  EXPECT_EQ(parse_json("[nul]", "m.json").error().message,
            "m.json: line 1, column 5: not JSON: found ] where it is not allowed");
  EXPECT_EQ(parse_json("{\n", "m.json").error().message,
            "m.json: line 2, column 1: not JSON: the text ends in the middle of a value");
}

TEST(ParseJson, ANumberBeyondAllLimitsIsAnErrorWhereItIsUsed) {
  const std::string file = "m.json";
  const auto document = parse_json("[1e999]", file);
  const auto elements = JsonPlace(file, document.value()).elements();
  EXPECT_EQ(elements.value()[0].number(7).error().message,
            "m.json: /0: found 1e999; allowed: a whole number from 0 to 7");
  EXPECT_EQ(scalar_text(elements.value()[0].value()), std::nullopt);
}

TEST(ScalarText, IsATextOrWhatJsonWrites) {
  const auto document = parse_json(R"(["a\"", 7, -7, 1.50, true, null, [], {}])", "m.json");
  std::vector<std::optional<std::string>> texts;
  for (const Json& item : *document.value().items()) texts.push_back(scalar_text(item));
  EXPECT_THAT(texts, ::testing::ElementsAre("a\"", "7", "-7", "1.5", "true", std::nullopt, std::nullopt, std::nullopt));
}

TEST(IsUtf8, AsksOnlyForTheEncoding) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\"\\\n\xC3\xA4"));
  EXPECT_FALSE(is_utf8("a\xFFz"));
  EXPECT_FALSE(is_utf8("\xC3"));
}

TEST(ParseJson, AKeyThatStandsTwiceIsRefusedAtAnyDepth) {
  for (const char* text : {R"({"a": 1, "a": 1})", R"([{"b": {"a": 1, "c": [], "a": 2}}])"}) {
    const auto document = parse_json(text, "m.json");
    ASSERT_TRUE(fails_with(document, ErrorCode::kInvalidArgument)) << text;
    EXPECT_NE(document.error().message.find("/a: the key appears twice"), std::string::npos)
        << document.error().message;
  }
  EXPECT_TRUE(is_ok(parse_json(R"([{"a": 1}, {"a": {"a": 2}}])", "m.json")));
}

TEST(ParseJson, DeepNestingIsNoDanger) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(is_ok(parse_json(nested(kMaxJsonDepth), "m.json")));
  for (const std::size_t depth : {kMaxJsonDepth + 1, std::size_t{200'000}}) {
    const auto document = parse_json(nested(depth), "m.json");
    ASSERT_TRUE(fails_with(document, ErrorCode::kInvalidArgument)) << depth;
    EXPECT_EQ(document.error().message, "m.json: arrays and objects are nested more than 64 deep");
  }
}

TEST(JsonPlace, ErrorsNameThePointerWithItsEscapes) {
  const std::string file = "m.json";
  const auto document = parse_json(R"({"a/b": [{"c~d": 1}]})", file);
  const JsonPlace root(file, document.value());

  const JsonPlace inner = root.at("a/b").elements().value()[0].at("c~d");

  EXPECT_EQ(inner.text().error().message, "m.json: /a~1b/0/c~0d: found 1; allowed: a string that is not empty");
  EXPECT_EQ(root.text().error().message,
            "m.json: the whole file: found an object; allowed: a string that is not empty");
}

TEST(JsonPlace, NumbersAreWholeAndWithinTheirLimit) {
  const std::string file = "m.json";
  const auto document = parse_json("[0, 7, 8, -1, 1.5, \"7\", 18446744073709551616]", file);
  const auto elements = JsonPlace(file, document.value()).elements().value();

  EXPECT_EQ(elements[0].number(7).value(), 0U);
  EXPECT_EQ(elements[1].number(7).value(), 7U);
  for (std::size_t i = 2; i < elements.size(); ++i) EXPECT_FALSE(elements[i].number(7).ok()) << i;
}

TEST(JsonPlace, LongValuesAreCutInErrors) {
  const std::string file = "m.json";
  const auto document = parse_json('"' + std::string(1000, 'x') + '"', file);

  EXPECT_LT(JsonPlace(file, document.value()).boolean().error().message.size(), 120U);
}

TEST(ReadTextFile, OnlyRegularFilesAreRead) {
  const support::TempDir folder;
  const std::string text = "a\nb";
  support::write_file(folder.file("t"), std::as_bytes(std::span(text)));

  EXPECT_EQ(read_text_file(folder.file("t")).value(), text);
  EXPECT_TRUE(fails_with(read_text_file(folder.file("none")), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(read_text_file(folder.path()), ErrorCode::kNotRegularFile));
}

}  // namespace json_file_test
}  // namespace fatctx::tools
