#include "container/format/names.h"

#include <gtest/gtest.h>

#include <string>

namespace fatctx::container {
namespace names_test {

using namespace std::string_literals;

struct Naughty {
  const char* what;
  std::string name;
};

const Naughty kRefused[] = {
    {"nothing", ""},
    {"a NUL", "a\0b"s},
    {"a line feed", "a\nb"},
    {"an escape", "\x1b[31mred"},
    {"a tabulator", "a\tb"},
    {"the last C0 control", "a\x1f"},
    {"DEL", "a\x7f"},
    {"the first C1 control, U+0080", "a\xc2\x80"},
    {"next line, U+0085", "a\xc2\x85z"},
    {"the last C1 control, U+009F", "a\xc2\x9f"},
    {"a lone continuation byte", "\x80"},
    {"a two-byte form that ends", "a\xc3"},
    {"a three-byte form that ends", "a\xe2\x82"},
    {"a four-byte form that ends", "a\xf0\x9f\x98"},
    {"a lead byte before a letter", "\xc3(x"},
    {"overlong slash in two bytes", "\xc0\xaf"},
    {"overlong slash in three bytes", "\xe0\x80\xaf"},
    {"overlong slash in four bytes", "\xf0\x80\x80\xaf"},
    {"overlong NUL", "\xc0\x80"},
    {"overlong U+07FF", "\xe0\x9f\xbf"},
    {"overlong U+FFFF", "\xf0\x8f\xbf\xbf"},
    {"the first surrogate", "\xed\xa0\x80"},
    {"the last surrogate", "\xed\xbf\xbf"},
    {"U+110000", "\xf4\x90\x80\x80"},
    {"a five-byte lead", "\xf8\x88\x80\x80\x80"},
    {"0xFE", "\xfe"},
    {"0xFF", "\xff"},
    {"Latin-1", "caf\xe9"},
};

const Naughty kAccepted[] = {
    {"ASCII", "model.x86-64-v3"},
    {"a blank and quotes", "a \"b\" 'c' \\"},
    {"the first character that is no control", " "},
    {"tilde, before DEL", "~"},
    {"U+00A0, behind C1", "\xc2\xa0"},
    {"U+07FF", "\xdf\xbf"},
    {"U+0800", "\xe0\xa0\x80"},
    {"U+D7FF, before the surrogates", "\xed\x9f\xbf"},
    {"U+E000, behind them", "\xee\x80\x80"},
    {"U+FFFF", "\xef\xbf\xbf"},
    {"U+10000", "\xf0\x90\x80\x80"},
    {"U+10FFFF", "\xf4\x8f\xbf\xbf"},
    {"Chinese", "\xe6\xa8\xa1\xe5\x9e\x8b"},
    {"right to left", "\xd7\x9e\xd7\x95\xd7\x93\xd7\x9c"},
};

TEST(Names, NaughtyOnesAreRefusedWithTheirRule) {
  for (const Naughty& row : kRefused) {
    const auto status = check_name(row.name, 255, true, "record name");

    ASSERT_FALSE(status.ok()) << row.what;
    EXPECT_EQ(status.error().code, ErrorCode::kMalformed) << row.what;
    EXPECT_EQ(status.error().where.rule, "F29") << row.what;
    EXPECT_EQ(status.error().message.rfind("record name ", 0), 0U) << status.error().message;
  }
}

TEST(Names, OrdinaryOnesPassUpToTheEdgesOfWhatIsAllowed) {
  for (const Naughty& row : kAccepted) {
    EXPECT_TRUE(check_name(row.name, 255, false, "record name").ok()) << row.what;
  }
}

TEST(Names, ASlashIsForTensorsOnly) {
  EXPECT_TRUE(check_name("encoder/layer/0", 255, true, "tensor name").ok());
  EXPECT_FALSE(check_name("encoder/layer/0", 255, false, "record name").ok());
}

TEST(Names, LengthCountsBytes) {
  EXPECT_TRUE(check_name(std::string(255, 'x'), 255, false, "record name").ok());
  EXPECT_FALSE(check_name(std::string(256, 'x'), 255, false, "record name").ok());
  EXPECT_FALSE(check_name("\xe6\xa8\xa1", 2, false, "record name").ok());
}

TEST(Names, AMessageAboutABadNameIsItselfWellFormed) {
  for (const Naughty& row : kRefused) {
    const auto status = check_name(row.name, 255, true, "record name");

    ASSERT_FALSE(status.ok());
    for (const char letter : status.error().message) {
      EXPECT_TRUE(letter >= ' ' && letter <= '~') << row.what;
    }
  }
  const auto slash_then_junk = check_name("a/\xff", 255, false, "record name");
  ASSERT_FALSE(slash_then_junk.ok());
  EXPECT_TRUE(is_valid_utf8(slash_then_junk.error().message));
}

TEST(Names, EverySingleByteIsJudgedAsUtf8Says) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(is_valid_utf8(text), byte < 0x80) << byte;
  }
}

}  // namespace names_test
}  // namespace fatctx::container
