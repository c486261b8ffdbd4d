#include "base/json_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace fatctx {
namespace json_reader_test {

// A handler that records its calls, and ends the reading at the word "stop".
class Notes {
 public:
  bool null() { return note("null"); }
  bool boolean(bool value) { return note(value ? "true" : "false"); }
  bool natural(std::uint64_t value) { return note("natural " + std::to_string(value)); }
  bool negative(std::int64_t value) { return note("negative " + std::to_string(value)); }
  bool other_number(std::string_view written) { return note("other " + std::string(written)); }
  bool text(const std::string& words) { return note("text " + words) && words != "stop"; }
  bool key(const std::string& words) { return note("key " + words) && words != "stop"; }
  bool begin_object() { return note("{"); }
  bool end_object() { return note("}"); }
  bool begin_array() { return note("["); }
  bool end_array() { return note("]"); }

  std::string all;

 private:
  bool note(const std::string& what) {
    all += what + "|";
    return true;
  }
};

TEST(JsonReader, TellsWhatATextSaysInItsOrder) {
  Notes notes;
  JsonReader reader(R"( {"a": [null, true, false, 7, -7, 1.50, {}], "b\u0041": "t"} )", 3, notes);

  EXPECT_EQ(reader.read(), JsonOutcome::kWhole);

  EXPECT_EQ(notes.all, "{|key a|[|null|true|false|natural 7|negative -7|other 1.50|{|}|]|key bA|text t|}|");
}

TEST(JsonReader, NumbersOfMoreThan64BitsAreToldAsTheyAreWritten) {
  Notes notes;
  JsonReader reader("[18446744073709551615,18446744073709551616,-9223372036854775808,-9223372036854775809]", 1, notes);

  EXPECT_EQ(reader.read(), JsonOutcome::kWhole);

  EXPECT_EQ(notes.all,
            "[|natural 18446744073709551615|other 18446744073709551616|negative -9223372036854775808|"
            "other -9223372036854775809|]|");
}

TEST(JsonReader, StopsWhereAnEventSaysSo) {
  for (const char* text : {R"(["stop", 1, nonsense)", R"({"stop": nonsense)"}) {
    Notes notes;
    JsonReader reader(text, 1, notes);
    EXPECT_EQ(reader.read(), JsonOutcome::kStopped) << text;
    EXPECT_TRUE(notes.all.ends_with("stop|")) << notes.all;
  }
}

TEST(JsonReader, NamesTheByteFromWhichOnItIsNoJson) {
  const struct {
    std::string text;
    std::size_t position;
  } rows[] = {{"", 1}, {"{", 2}, {"[1,]", 4}, {"{}x", 3}, {std::string("{}\0", 3), 3}, {"[tru]", 5}, {"\"\xff\"", 2}};
  for (const auto& row : rows) {
    Notes notes;
    JsonReader reader(row.text, 2, notes);
    EXPECT_EQ(reader.read(), JsonOutcome::kNotJson) << row.text;
    EXPECT_EQ(reader.position(), row.position) << row.text;
  }
}

TEST(JsonReader, GoesAsDeepAsItsCallerAllows) {
  for (const auto& [text, outcome] :
       {std::pair{"[[]]", JsonOutcome::kWhole}, std::pair{"[[[]]]", JsonOutcome::kTooDeep},
        std::pair{R"({"a":{"b":{}}})", JsonOutcome::kTooDeep}}) {
    Notes notes;
    JsonReader reader(text, 2, notes);
    EXPECT_EQ(reader.read(), outcome) << text;
  }
  Notes notes;
  const std::string brackets(1'000'000, '[');
  JsonReader endless(brackets, 2, notes);
  EXPECT_EQ(endless.read(), JsonOutcome::kTooDeep);
}

}  // namespace json_reader_test
}  // namespace fatctx
