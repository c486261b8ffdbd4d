#include "tools/facts/json_cursor.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::tools {
namespace json_cursor_test {

using support::fails_with;
using support::is_ok;

TEST(ParseJson, CommentsAreAllowed) {
  const auto document = parse_json("// first\n{\"a\": /* inside */ 1}", "m.json");
  ASSERT_TRUE(is_ok(document));
  EXPECT_EQ(document.value()["a"], 1);
}

TEST(ParseJson, AnErrorNamesFileLineAndColumn) {
  const auto document = parse_json("{\n  \"a\": 1,\n}", "m.json");
  ASSERT_TRUE(fails_with(document, ErrorCode::kInvalidArgument));
  EXPECT_EQ(document.error().message.rfind("m.json: line 3, column 1: not JSON: ", 0), 0U) << document.error().message;
}

TEST(ParseJson, ANumberBeyondAllLimitsIsAnErrorOfTheFile) {
  for (const char* text : {"1e999", "[-222E22222]"}) {
    const auto document = parse_json(text, "m.json");
    ASSERT_TRUE(fails_with(document, ErrorCode::kInvalidArgument)) << text;
    EXPECT_EQ(document.error().message.rfind("m.json: a number is too large", 0), 0U) << document.error().message;
  }
}

TEST(ParseJson, AKeyThatStandsTwiceIsRefusedAtAnyDepth) {
  for (const char* text : {R"({"a": 1, "a": 1})", R"([{"b": {"a": 1, "c": [], "a": 2}}])"}) {
    const auto document = parse_json(text, "m.json");
    ASSERT_TRUE(fails_with(document, ErrorCode::kInvalidArgument)) << text;
    EXPECT_NE(document.error().message.find("\"a\" appears twice"), std::string::npos) << document.error().message;
  }
  EXPECT_TRUE(is_ok(parse_json(R"([{"a": 1}, {"a": {"a": 2}}])", "m.json")));
}

TEST(ParseJson, DeepNestingIsNoDanger) {
  constexpr std::size_t kDepth = 200'000;
  EXPECT_TRUE(is_ok(parse_json(std::string(kDepth, '[') + std::string(kDepth, ']'), "m.json")));
  EXPECT_FALSE(parse_json(std::string(kDepth, '['), "m.json").ok());
}

TEST(JsonCursor, ErrorsNameThePointerWithItsEscapes) {
  const std::string file = "m.json";
  const auto document = parse_json(R"({"a/b": [{"c~d": 1}]})", file);
  const JsonCursor root(file, document.value());

  const JsonCursor inner = root.at("a/b").elements().value()[0].at("c~d");

  EXPECT_EQ(inner.text().error().message, "m.json: /a~1b/0/c~0d: found 1; allowed: a string that is not empty");
  EXPECT_EQ(root.text().error().message,
            "m.json: the whole file: found an object; allowed: a string that is not empty");
}

TEST(JsonCursor, NumbersAreWholeAndWithinTheirLimit) {
  const std::string file = "m.json";
  const auto document = parse_json("[0, 7, 8, -1, 1.5, \"7\", 18446744073709551616]", file);
  const auto elements = JsonCursor(file, document.value()).elements().value();

  EXPECT_EQ(elements[0].number(7).value(), 0U);
  EXPECT_EQ(elements[1].number(7).value(), 7U);
  for (std::size_t i = 2; i < elements.size(); ++i) EXPECT_FALSE(elements[i].number(7).ok()) << i;
}

TEST(JsonCursor, LongValuesAreCutInErrors) {
  const std::string file = "m.json";
  const auto document = parse_json('"' + std::string(1000, 'x') + '"', file);

  EXPECT_LT(JsonCursor(file, document.value()).boolean().error().message.size(), 120U);
}

TEST(ReadTextFile, OnlyRegularFilesAreRead) {
  const support::TempDir folder;
  const std::string text = "a\nb";
  support::write_file(folder.file("t"), std::as_bytes(std::span(text)));

  EXPECT_EQ(read_text_file(folder.file("t")).value(), text);
  EXPECT_TRUE(fails_with(read_text_file(folder.file("none")), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(read_text_file(folder.path()), ErrorCode::kNotRegularFile));
}

}  // namespace json_cursor_test
}  // namespace fatctx::tools
