#include "tools/cli/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>

#include "tools/cli/progress.h"

namespace fatctx::tools {
namespace print_test {

TEST(Escaped, SpellsOutWhatMovesTheCursorOrHides) {
  EXPECT_EQ(escaped("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(escaped("line\nbreak\r"), "line\\x0abreak\\x0d");
  EXPECT_EQ(escaped("\x7f"), "\\x7f");
  EXPECT_EQ(escaped("\xc2\x9b"), "\\u009b");                         // C1 control sequence introducer
  EXPECT_EQ(escaped("x\xe2\x80\xaey"), "x\\u202ey");                 // right-to-left override
  EXPECT_EQ(escaped("\xe2\x81\xa6\xe2\x81\xa9"), "\\u2066\\u2069");  // isolates
  EXPECT_EQ(escaped("\xe2\x80\x8b"), "\\u200b");                     // zero width space
  EXPECT_EQ(escaped("\xf3\xa0\x81\x81"), "\\U000e0041");             // tag character
}

TEST(Escaped, SpellsOutEveryControlCharacter) {
  for (int c = 0; c < 0x20; ++c) {
    const std::string text(1, static_cast<char>(c));
    EXPECT_EQ(escaped(text).size(), 4U) << c;
  }
}

TEST(Escaped, SpellsOutBytesThatAreNotUtf8) {
  EXPECT_EQ(escaped("\xff"), "\\xff");
  EXPECT_EQ(escaped("\xc3"), "\\xc3");                             // cut short
  EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
}

TEST(Escaped, LeavesNamesOfAllLanguagesAlone) {
  const std::string names = "gewicht \xc3\xa4 \xe9\x87\x8d\xe3\x81\xbf \xf0\x9f\x98\x80 layer.0/attn";

  EXPECT_EQ(escaped(names), names);
}

TEST(EscapedLines, KeepsLineFeedsAndNothingElse) { EXPECT_EQ(escaped_lines("a\nb\tc"), "a\nb\\x09c"); }

TEST(SizeText, HasUnitsAndExactBytes) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(1023), "1,023 bytes");
  EXPECT_EQ(size_text(1024), "1.0 KiB (1,024 bytes)");
  EXPECT_EQ(size_text(22'888'448), "21.8 MiB (22,888,448 bytes)");
  EXPECT_EQ(size_text(UINT64_MAX), "16384.0 PiB (18,446,744,073,709,551,615 bytes)");
}

TEST(ShortSizeText, NeverRoundsUpToTheNextUnit) {
  EXPECT_EQ(short_size_text(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(short_size_text(1024ULL * 1024 * 1024 - 1), "1.0 GiB");
}

TEST(OffsetText, IsHexadecimal) { EXPECT_EQ(offset_text(196608), "0x30000"); }

TEST(TableText, AlignsColumnsAndEscapesCells) {
  Table table({{"id", Table::Align::kRight}, {"name"}, {"last"}});
  table.add_row({"7", "a\x1b", "x"});
  table.add_row({"12", "\xc3\xa4", ""});

  EXPECT_EQ(table.text(),
            "id  name   last\n"
            " 7  a\\x1b  x\n"
            "12  \xc3\xa4\n");
}

TEST(TableText, IsAsWideAsItsCellsIfNoTerminalReadsIt) {
  Table table({{"name"}, {"target"}});
  const std::string target(200, 'x');
  table.add_row({"first", target + " " + target});

  EXPECT_EQ(table.text("", 0), "name   target\nfirst  " + target + " " + target + "\n");
}

TEST(VerdictColors, AreThereIfTheUserAsksForThemAndTakeNoColumn) {
  use_color(Color::kNever);
  EXPECT_EQ(good("whole"), "whole");
  use_color(Color::kAlways);
  EXPECT_EQ(bad("damaged"), "\x1b[31mdamaged\x1b[0m");
  EXPECT_EQ(with_good("whole: whole", "whole", 1), "whole: \x1b[32mwhole\x1b[0m");
  EXPECT_EQ(with_bad("whole", "damaged"), "whole");
  EXPECT_EQ(fitted(good("one two") + " three", 13), good("one two") + " three");
  use_color(Color::kAuto);
}

TEST(Fitted, BreaksLongLinesAtBlanks) {
  EXPECT_EQ(fitted("one two three four\n  five six seven\n", 10),
            "one two\n"
            "  three\n"
            "  four\n"
            "  five six\n"
            "    seven\n");
  EXPECT_EQ(fitted("file:  a model of two words\nshort: b\n", 20),
            "file:  a model of\n"
            "       two words\n"
            "short: b\n");
  EXPECT_EQ(fitted("a-word-that-is-longer-than-a-line\n\nx", 10), "a-word-that-is-longer-than-a-line\n\nx");
  EXPECT_EQ(fitted("path: /a/path/that/is/long then more", 10), "path:\n  /a/path/that/is/long\n  then\n  more");
  EXPECT_EQ(fitted("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6", 9),
            "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6");
}

TEST(Fitted, LeavesWhatIsCopiedOrReadByProgramsAsItIs) {
  const std::string json = "{\n  \"name\": \"one two three four\"\n}\n";
  const std::string example = "  fatctx pack -o m.fatctx --name m --binary code.bin@cpu:x86-64-v3\n";

  EXPECT_EQ(fitted(json, 10), json);
  EXPECT_EQ(fitted(example, 10), example);
  EXPECT_EQ(fitted("one two three four", 0), "one two three four");
}

TEST(BlockText, AlignsValuesAndEscapesThem) {
  Block block;
  block.add("file", "m.fatctx");
  block.add("generation", "1\n2");

  EXPECT_EQ(block.text(),
            "file:        m.fatctx\n"
            "generation:  1\\x0a2\n");
}

TEST(JsonText, IsAsciiSoThatNoNameCanHarmATerminal) {
  const std::string text = json_text({{"name", "\xe2\x80\xae\x7f"}});

  EXPECT_EQ(text, "{\n  \"name\": \"\\u202e\\u007f\"\n}\n");
}

TEST(JsonText, SurvivesBytesThatAreNotUtf8) { EXPECT_EQ(json_text("\xff"), "\"\\ufffd\"\n"); }

TEST(ProgressLine, SaysNothingToAFile) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line("verify", false, std::chrono::milliseconds(0));
    for (std::uint64_t i = 0; i < 100; ++i) line.bytes(i, 100);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressLine, SaysNothingOfAShortJob) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line("verify", true);
    line.bytes(100, 100);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressLine, DrawsALongJobAndWipesTheLineAtTheEnd) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line("verify", true, std::chrono::milliseconds(0));
    line.bytes(512, 2048);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "\r\x1b[Kverify   25 %  512 bytes of 2.0 KiB\r\x1b[K");
}

TEST(ProgressLine, NamesThePassWhereTheCountBeginsAgain) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line("pack", true, std::chrono::milliseconds(0));
    line.bytes(2048, 2048);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));  // a line is drawn ten times a second
    line.bytes(512, 2048);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "\r\x1b[Kpack  100 %  2.0 KiB of 2.0 KiB\r\x1b[Kpack, pass 2   25 %  512 bytes of 2.0 KiB\r\x1b[K");
}

TEST(ProgressLine, SaysTheRateAndTheTimeThatIsLeft) {
  using std::chrono::milliseconds;
  const auto pace = [](std::uint64_t done, std::uint64_t total, int spent) {
    return ProgressLine::pace_text(done, total, milliseconds(spent));
  };

  EXPECT_EQ(pace(1024, 4096, 1000), ", 1.0 KiB/s, 3 s left");
  EXPECT_EQ(pace(1024, 103'424, 1000), ", 1.0 KiB/s, 1:40 min left");
  EXPECT_EQ(pace(4096, 4096, 2000), ", 2.0 KiB/s");
  EXPECT_EQ(pace(1024, 4096, 100), "");  // too early to say
  EXPECT_EQ(pace(0, 4096, 1000), "");
}

}  // namespace print_test
}  // namespace fatctx::tools
