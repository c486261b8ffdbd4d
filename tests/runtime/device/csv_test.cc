#include "runtime/device/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fatctx::runtime {
namespace csv_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Csv, ReadsPlainAndQuotedCells) {
  const auto rows = read_csv(
      "\xEF\xBB\xBF"
      "a, b ,\"c, \"\"d\"\"\" \r\n\n,x,\n",
      "t.csv");

  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows.value().size(), 2u);
  EXPECT_THAT(rows.value()[0].cells, ElementsAre("a", "b", "c, \"d\""));
  EXPECT_EQ(rows.value()[0].line, 1u);
  EXPECT_THAT(rows.value()[1].cells, ElementsAre("", "x", ""));
  EXPECT_EQ(rows.value()[1].line, 3u);
}

TEST(Csv, NeedsNoLineEndAtTheEnd) {
  const auto rows = read_csv("a\nb,c", "t.csv");

  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_THAT(rows.value().back().cells, ElementsAre("b", "c"));
}

struct Lie {
  const char* text;
  const char* place;
  const char* found;
};
const Lie kLies[] = {
    {"a\nb,\"c", "t.csv:2: cell 2:", "a quote that is not closed"},
    {"a\n\"b\nc\",d", "t.csv:2: cell 1:", "a quote that is not closed"},
    {"\"a\"b", "t.csv:1: cell 1:", "text behind a closing quote"},
    {"x,a\"b", "t.csv:1: cell 2:", "a quote within a cell"},
    {"a\n\nb\x01", "t.csv:3: cell 1:", "a control character"},
    {"a\rb", "t.csv:1: cell 1:", "a control character"},
    {"a,\xff", "t.csv:1: cell 2:", "bytes that are not UTF-8"},
};

TEST(Csv, RefusesWhatIsNotOneWithLineAndCell) {
  for (const Lie& lie : kLies) {
    const auto rows = read_csv(lie.text, "t.csv");
    ASSERT_FALSE(rows.ok()) << lie.text;
    EXPECT_EQ(rows.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(rows.error().message, HasSubstr(lie.place)) << lie.text;
    EXPECT_THAT(rows.error().message, HasSubstr(lie.found)) << lie.text;
  }
}

}  // namespace csv_test
}  // namespace fatctx::runtime
