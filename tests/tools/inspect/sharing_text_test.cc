#include "tools/inspect/sharing_text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "support/chip_corpus.h"
#include "support/sample_container.h"

namespace fatctx::tools {
namespace sharing_text_test {

std::size_t columns(std::string_view line) {
  std::size_t count = 0;
  for (const char byte : line) count += (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U ? 1U : 0U;
  return count;
}

class SharingText : public testing::Test {
 protected:
  [[nodiscard]] std::string of(const std::vector<std::string>& names, Bars bars = Bars::kAscii) {
    const auto corpus = support::make_chip_corpus(3, {.tensors = 6, .rows = 64});
    std::vector<PackRecord> records;
    for (std::size_t i = 0; i < names.size(); ++i) {
      records.push_back(support::binary_record(names[i], "v" + std::to_string(70 + i), corpus.chips[i % 2]));
      records.back().key.variant = names[i];
    }
    PackOptions options;
    options.overwrite = true;
    EXPECT_TRUE(support::pack(std::move(records), folder_.file("m.fatctx"), options).ok());
    const Container container = Container::open(folder_.file("m.fatctx")).value();
    return sharing_report_text(container, measure_sharing(container).value(), bars);
  }

  support::TempDir folder_;
};

TEST_F(SharingText, NoLineIsWiderThanAHundredColumnsHoweverLongTheNames) {
  std::vector<std::string> names;
  for (char first = 'a'; first < 'g'; ++first) {
    std::string name(1, first);
    for (int i = 0; i < 120; ++i) name += "\xc3\xa4";
    names.push_back(name);
  }

  for (const Bars bars : {Bars::kAscii, Bars::kBlocks}) {
    std::istringstream lines(of(names, bars));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 100U) << line;
  }
}

TEST_F(SharingText, PlainTextHasNoByteThatIsNotAscii) {
  for (const char byte : of({"first", "second"})) EXPECT_LT(static_cast<unsigned char>(byte), 0x80U);
}

TEST_F(SharingText, BlocksTakeThePlaceOfAsciiBars) {
  const std::string text = of({"first", "second"}, Bars::kBlocks);

  EXPECT_NE(text.find("\xe2\x96\x88"), std::string::npos);  // full block: own bytes
  EXPECT_NE(text.find("\xe2\x96\x91"), std::string::npos);  // light shade: shared bytes
  EXPECT_EQ(text.find("#"), std::string::npos);
}

TEST_F(SharingText, ARecordWithManySharersListsTheLargestAndCountsTheRest) {
  const std::string text = of({"a", "b", "c", "d"});

  EXPECT_NE(text.find("a shares "), std::string::npos) << text;
  EXPECT_NE(text.find(" with c, "), std::string::npos) << "c has the same bytes\n" << text;
  EXPECT_NE(text.find(" and 1 more\n"), std::string::npos) << text;
}

}  // namespace sharing_text_test
}  // namespace fatctx::tools
