// Patterns, tables of a fixed width, CSV and statistics of `fatctx info`.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "tools/cli/print.h"
#include "tools/inspect/csv_text.h"
#include "tools/inspect/filters.h"
#include "tools/inspect/tensor_stats.h"

namespace fatctx::tools {
namespace info_views_test {

template <typename T>
TensorStats stats_of(DType dtype, const std::vector<T>& numbers, std::uint64_t elements) {
  StatsCounter counter(dtype, elements);
  counter.add(std::as_bytes(std::span(numbers)));
  return counter.stats();
}

TEST(FitsPattern, StarsAndQuestionMarksStandForTextAndCaseDoesNotMatter) {
  EXPECT_TRUE(fits_pattern("", "anything"));
  EXPECT_TRUE(fits_pattern("*", ""));
  EXPECT_TRUE(fits_pattern("*x86*", "tiny-X86-64"));
  EXPECT_TRUE(fits_pattern("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(fits_pattern("v7?", "v73"));
  EXPECT_FALSE(fits_pattern("v7?", "v7"));
  EXPECT_FALSE(fits_pattern("v7", "v73"));
  EXPECT_FALSE(fits_pattern("*b", "abc"));
}

TEST(FitsPattern, ManyStarsCostNoMoreThanTheProductOfBothLengths) {
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "*a";
  EXPECT_FALSE(fits_pattern(pattern + "b", std::string(4000, 'a')));
}

TEST(Shortened, KeepsBothEndsAndWholeCharacters) {
  EXPECT_EQ(shortened("abcdefghijkl", 12), "abcdefghijkl");
  EXPECT_EQ(shortened("abcdefghijkl", 9), "abc...jkl");
  EXPECT_EQ(shortened("äöüßäöüß", 7), "äö...üß");
}

TEST(BrokenLines, BreakBetweenWordsOnly) {
  EXPECT_EQ(broken_lines("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(broken_lines("incomprehensibilities of", 5), (std::vector<std::string>{"incomprehensibilities", "of"}));
}

TEST(Table, FitsItsWidthByShorteningNamesAndBreakingTheLastColumn) {
  Table table({{"name"}, {"bytes", Table::Align::kRight}, {"sharing"}});
  table.add_row({std::string(70, 'n') + "SM8650", "1,234,567", "shared with v73, v75, v79 and 12 more; uses weights"});
  for (const std::size_t width : {60U, 80U}) {
    const std::string text = table.text("  ", width);
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      EXPECT_LE(text.find('\n', begin) - begin, width) << text;
    }
    EXPECT_NE(text.find("SM8650"), std::string::npos) << text;
    EXPECT_NE(text.find("1,234,567"), std::string::npos) << text;
  }
  EXPECT_NE(table.text().find(std::string(70, 'n')), std::string::npos);
}

TEST(Csv, QuotesCommasAndQuotesAndEscapesControlCharacters) {
  CsvText csv({"a", "b"});
  csv.add_row({"x,y", "he said \"no\""});
  csv.add_row({"two\nlines", "plain"});
  EXPECT_EQ(csv.text(), "a,b\n\"x,y\",\"he said \"\"no\"\"\"\ntwo\\x0alines,plain\n");
}

TEST(TensorStats, CountZerosNansInfinitiesAndDistinctPatterns) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto stats =
      stats_of<float>(DType::kF32, {3, -2.5F, 0, 3, std::numeric_limits<float>::quiet_NaN(), kInfinity}, 6);
  EXPECT_EQ(stats.elements, 6U);
  EXPECT_EQ(stats.zeros, 1U);
  EXPECT_EQ(stats.nans, 1U);
  EXPECT_EQ(stats.infinities, 1U);
  EXPECT_EQ(stats.least, -2.5);
  EXPECT_EQ(stats.most, 3);
  EXPECT_EQ(stats.distinct, 5U);
}

TEST(TensorStats, ReadSmallTypesByTheirDefinition) {
  // Halves: 1, -2, the least subnormal, 65504.
  const auto halves = stats_of<std::uint16_t>(DType::kF16, {0x3c00, 0xc000, 0x0001, 0x7bff}, 4);
  EXPECT_EQ(halves.least, -2);
  EXPECT_EQ(halves.most, 65504);
  const auto brain = stats_of<std::uint16_t>(DType::kBF16, {0x3fc0, 0xbf80}, 2);
  EXPECT_EQ(brain.most, 1.5);
  EXPECT_EQ(brain.least, -1);
  // Three int4: -1, 7, -8; the last half byte is none.
  const auto nibbles = stats_of<std::uint8_t>(DType::kI4, {0x7f, 0x58}, 3);
  EXPECT_EQ(nibbles.elements, 3U);
  EXPECT_EQ(nibbles.least, -8);
  EXPECT_EQ(nibbles.most, 7);
  EXPECT_EQ(nibbles.distinct, 3U);
  EXPECT_EQ(stats_of<std::int64_t>(DType::kI64, {-5, 9}, 2).least, -5);
}

TEST(TensorStats, StopCountingDistinctNumbersAtALimit) {
  std::vector<std::uint32_t> numbers(StatsCounter::kMostDistinct + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint32_t>(i);
  EXPECT_EQ(stats_of(DType::kU32, numbers, numbers.size()).distinct, std::nullopt);
  numbers.pop_back();
  EXPECT_EQ(stats_of(DType::kU32, numbers, numbers.size()).distinct, StatsCounter::kMostDistinct);
}

}  // namespace info_views_test
}  // namespace fatctx::tools
