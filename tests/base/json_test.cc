#include "base/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <locale>
#include <string>
#include <vector>

namespace fatctx {
namespace json_test {

constexpr std::size_t kDeep = 16;

Json read(std::string_view text) {
  JsonFault fault;
  const auto json = read_json(text, kDeep, fault);
  EXPECT_TRUE(json.has_value()) << text << ": " << fault.position << " " << fault.pointer;
  return json.value_or(Json());
}

JsonFault fault_of(std::string_view text, std::size_t max_depth = kDeep) {
  JsonFault fault;
  EXPECT_FALSE(read_json(text, max_depth, fault).has_value()) << text;
  return fault;
}

TEST(Json, IsWrittenAsItIsPutTogether) {
  const Json json = {{"name", "m"},
                     {"size", 3U},
                     {"below", -3},
                     {"on", true},
                     {"none", nullptr},
                     {"inner", {{"a", 1}}},
                     {"list", std::vector<std::uint32_t>{1, 2}}};
  EXPECT_EQ(json_line(json), R"({"name":"m","size":3,"below":-3,"on":true,"none":null,"inner":{"a":1},"list":[1,2]})");
}

TEST(Json, IsIndentedByTwoBlanksForEachLevelAndEmptyListsStayInOneLine) {
  const Json json = {{"a", Json::array()}, {"b", Json::object()}, {"c", {{"d", std::vector<int>{1}}}}};
  EXPECT_EQ(write_json(json), R"({
  "a": [],
  "b": {},
  "c": {
    "d": [
      1
    ]
  }
})");
}

TEST(Json, WritesAnOptionalValueThatIsMissingAsNull) {
  const std::optional<std::uint64_t> missing;
  EXPECT_EQ(json_line({{"a", missing}, {"b", std::optional<std::uint64_t>(7)}}), R"({"a":null,"b":7})");
}

TEST(Json, QuotesWhatIsNoPlainText) {
  EXPECT_EQ(json_line(Json("\"\\\n\x01")), R"("\"\\\n\u0001")");
  EXPECT_EQ(json_line({{"k\"", 1}}), R"({"k\"":1})");
  EXPECT_EQ(json_line(Json("\xC3\xA4")), R"("\u00e4")");
  EXPECT_EQ(write_json(Json("\xC3\xA4"), {.ascii = false}), "\"\xC3\xA4\"");
}

TEST(Json, ReplacesWhatIsNoUtf8) { EXPECT_EQ(json_line(Json("a\xFFz")), R"("a\ufffdz")"); }

TEST(Json, ReadsBackWhatItWrote) {
  const Json json = {{"z", {{"a", "x"}, {"b", nullptr}}},
                     {"a", std::vector<std::string>{"p", ""}},
                     {"largest", UINT64_MAX},
                     {"least", INT64_MIN},
                     {"off", false}};
  EXPECT_EQ(read(write_json(json)), json);
  EXPECT_EQ(read(json_line(json)), json);
}

TEST(Json, KeepsTheOrderOfMembersAndTellsAnotherOrderApart) {
  EXPECT_EQ(json_line(read(R"({"b":1,"a":2})")), R"({"b":1,"a":2})");
  EXPECT_NE(read(R"({"b":1,"a":2})"), read(R"({"a":2,"b":1})"));
}

TEST(Json, FindsMembersOfObjectsOnly) {
  const Json json = read(R"({"a":{"b":1}})");
  ASSERT_NE(json.find("a"), nullptr);
  ASSERT_NE(json.find("a")->find("b"), nullptr);
  EXPECT_EQ(*json.find("a")->find("b")->number(), 1U);
  EXPECT_EQ(json.find("c"), nullptr);
  EXPECT_EQ(Json("a").find("a"), nullptr);
}

TEST(Json, TellsKindsApart) {
  const Json json = read(R"([null, true, 1, -1, 1.5, "1", [], {}])");
  const Json::Array& items = *json.items();
  EXPECT_TRUE(items[0].is_null());
  EXPECT_NE(items[1].boolean(), nullptr);
  EXPECT_NE(items[2].number(), nullptr);
  for (std::size_t i = 3; i < items.size(); ++i) EXPECT_EQ(items[i].number(), nullptr) << i;
  EXPECT_NE(items[5].text(), nullptr);
  EXPECT_NE(items[6].items(), nullptr);
  EXPECT_NE(items[7].members(), nullptr);
}

TEST(Json, KeepsANumberThatIsNoIntegerOf64BitsAsItWasWritten) {
  for (const char* number : {"1.50", "-0.0e+01", "18446744073709551616", "-9223372036854775809", "1E400"}) {
    EXPECT_EQ(json_line(read(number)), number);
    EXPECT_EQ(read(number).number(), nullptr);
  }
}

TEST(Json, AFractionIsWrittenInItsShortestForm) {
  const struct {
    double value;
    const char* text;
  } cases[] = {{0.1, "0.1"},      {0.0, "0.0"},        {-0.0, "-0.0"},    {3.0, "3.0"},
               {1e16, "1e+16"},   {1.5e-7, "1.5e-07"}, {1e300, "1e+300"}, {1.0 / 3, "0.3333333333333333"},
               {5e-324, "5e-324"}};
  for (const auto& c : cases) {
    EXPECT_EQ(json_line(Json(c.value)), c.text);
    EXPECT_EQ(read(c.text).real(), c.value) << c.text;
  }
  EXPECT_EQ(json_line({{"half", 0.5F}, {"whole", 2}}), R"({"half":0.5,"whole":2})");
}

TEST(Json, ANumberThatIsNotFiniteIsNull) {
  for (const double value : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(Json(value).is_null()) << value;
  }
}

TEST(Json, ARealIsAnyNumberThatADoubleHolds) {
  EXPECT_EQ(read("7").real(), 7.0);
  EXPECT_EQ(read("-7").real(), -7.0);
  EXPECT_EQ(read("-2.5e1").real(), -25.0);
  EXPECT_EQ(read("18446744073709551616").real(), 18446744073709551616.0);
  for (const char* text : {"1e400", "-1e400", "\"1\"", "true", "null", "[1]", "{}"}) {
    EXPECT_EQ(read(text).real(), std::nullopt) << text;
  }
}

TEST(Json, ARealDoesNotDependOnTheLocale) {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  EXPECT_EQ(read("1.5").real(), 1.5);
  EXPECT_EQ(json_line(Json(1.5)), "1.5");
  std::locale::global(before);
}

TEST(Json, AWholeNumberHas64BitsWithItsSign) {
  EXPECT_EQ(read("0").whole(), 0);
  EXPECT_EQ(read("-9223372036854775808").whole(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read("9223372036854775807").whole(), std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"9223372036854775808", "1.0", "1e2", "\"1\"", "false", "null", "[]"}) {
    EXPECT_EQ(read(text).whole(), std::nullopt) << text;
  }
}

TEST(Json, AWrittenDocumentIsPutInAsItIsAndIndented) {
  const Json inner = {{"a", std::vector<int>{1, 2}}, {"b", Json::object()}, {"line", "x\ny"}};
  const auto around = [](Json value) { return Json{{"list", std::vector<Json>{std::move(value)}}, {"end", 1}}; };

  EXPECT_EQ(write_json(around(Json::written(write_json(inner)))), write_json(around(inner)));
  EXPECT_EQ(json_line(around(Json::written(json_line(inner)))), json_line(around(inner)));
  EXPECT_EQ(write_json(Json::written(write_json(inner))), write_json(inner));
}

TEST(Json, AByteOrderMarkIsPassedOver) { EXPECT_EQ(read("\xEF\xBB\xBF[1]"), read("[1]")); }

TEST(Json, OneFormStandsForEachNumber) { EXPECT_EQ(Json(3), read("3")); }

TEST(JsonFault, NamesTheByteFromWhichOnItIsNoJson) {
  const struct {
    std::string_view text;
    std::size_t position;
  } cases[] = {{"", 1}, {"{", 2}, {"[1,]", 4}, {"{} x", 4}, {"nul", 4}, {"\"\xFF\"", 2}, {"01", 2}};
  for (const auto& c : cases) {
    const JsonFault fault = fault_of(c.text);
    EXPECT_EQ(fault.kind, JsonFault::Kind::kNotJson) << c.text;
    EXPECT_EQ(fault.position, c.position) << c.text;
  }
}

TEST(JsonFault, AZeroByteIsNotTheEndOfTheText) {
  const JsonFault fault = fault_of(std::string_view("{}\0garbage", 10));
  EXPECT_EQ(fault.kind, JsonFault::Kind::kNotJson);
  EXPECT_EQ(fault.position, 3U);
}

TEST(JsonFault, TheLimitOfDepthIsExact) {
  EXPECT_EQ(fault_of("[[[]]]", 2).kind, JsonFault::Kind::kTooDeep);
  JsonFault fault;
  EXPECT_TRUE(read_json("[[[]]]", 3, fault).has_value());
  EXPECT_TRUE(read_json("1", 0, fault).has_value());
}

TEST(JsonFault, AMillionOpenListsDoNotEndTheProcess) {
  EXPECT_EQ(fault_of(std::string(1'000'000, '[')).kind, JsonFault::Kind::kTooDeep);
}

TEST(JsonFault, AKeyStandsOnceInAnObject) {
  const struct {
    const char* text;
    const char* pointer;
  } cases[] = {
      {R"({"a":1,"b":2,"a":1})", "/a"},
      {R"({"x":[{"a":1},{"a":1,"b":2,"b":3}]})", "/x/1/b"},
      {R"({"x/y":{"~":1,"~":1}})", "/x~1y/~0"},
      {R"([[{"a":1,"\u0061":1}]])", "/0/0/a"},
  };
  for (const auto& c : cases) {
    const JsonFault fault = fault_of(c.text);
    EXPECT_EQ(fault.kind, JsonFault::Kind::kKeyTwice) << c.text;
    EXPECT_EQ(fault.pointer, c.pointer);
  }
  EXPECT_EQ(json_line(read(R"({"a":{"a":1},"b":{"a":1}})")), R"({"a":{"a":1},"b":{"a":1}})");
}

TEST(Json, ManyKeysAreNoSquare) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  text += "\"end\":1}";
  EXPECT_EQ(*read(text).find("end")->number(), 1U);
}

}  // namespace json_test
}  // namespace fatctx
