// The index by which a name is found: of any names, among equal hashes, and in rows that a stranger wrote.
#include "container/format/name_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/result_matchers.h"

namespace fatctx::container {
namespace name_index_test {

struct Names {
  std::vector<std::string> texts;
  std::vector<NameIndexEntry> index;
  std::size_t rows_read = 0;

  explicit Names(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) texts.push_back("name " + std::to_string(i));
    std::vector<std::string_view> views(texts.begin(), texts.end());
    index = name_index(views);
  }
  Result<std::optional<std::uint32_t>> find(std::string_view name) {
    return find_name(
        name, index.size(),
        [&](std::uint64_t at) -> Result<NameIndexEntry> {
          ++rows_read;
          return index.at(static_cast<std::size_t>(at));
        },
        [&](std::uint32_t record) -> Result<bool> { return texts.at(record) == name; });
  }
};

TEST(NameIndex, FindsEveryNameAndNoOther) {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 100U, 5'000U}) {
    Names names(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto found = names.find(names.texts[i]);
      ASSERT_TRUE(support::is_ok(found));
      ASSERT_EQ(found.value(), i);
    }
    EXPECT_EQ(names.find("another name").value(), std::nullopt);
    EXPECT_EQ(names.find("").value(), std::nullopt);
  }
}

TEST(NameIndex, ReadsAFewRowsOfMany) {
  Names names(65'536);
  for (std::uint32_t i = 0; i < 65'536; i += 97) (void)names.find(names.texts[i]);
  const double each = static_cast<double>(names.rows_read) / (65'536.0 / 97);
  EXPECT_LT(each, 20) << "a binary search reads 17 and then the name";
}

TEST(NameIndex, TellsEqualHashesApart) {
  Names names(4);
  for (NameIndexEntry& row : names.index) row.hash = name_hash("name 3");
  EXPECT_EQ(names.find("name 3").value(), 3U);
  EXPECT_EQ(names.find("name 1").value(), std::nullopt) << "its row does not have its hash";
}

TEST(NameIndex, EndsForRowsInAnyOrder) {
  for (std::uint32_t turn = 0; turn < 200; ++turn) {
    Names names(1'000);
    for (std::size_t i = 0; i < names.index.size(); ++i) {
      names.index[i].hash = static_cast<std::uint32_t>((i * 2'654'435'761U) ^ (turn * 40'503U));
    }
    (void)names.find("name 7");
    EXPECT_LE(names.rows_read, 1'100U);
  }
}

}  // namespace name_index_test
}  // namespace fatctx::container
