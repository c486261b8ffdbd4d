#include "tools/cli/command.h"
#include "source_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <new>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

namespace fatctx::tools {
namespace command_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns name and exit code of each row of the table in docs/errors.md: "| 1 | `io` | ... | 5 |".
std::map<std::string, int> documented_exit_codes() {
  std::ifstream page(FATCTX_SOURCE_DIR "/docs/errors.md");
  const std::regex row(R"(\| \d+ \| `(\w+)` \|.*\| (\d+) \|)");
  std::map<std::string, int> codes;
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) codes[match[1]] = std::stoi(match[2]);
  }
  return codes;
}

TEST(ExitCode, IsTheDocumentedOneForEveryErrorCode) {
  std::map<std::string, int> found;
  for (int number = 1; number <= static_cast<int>(ErrorCode::kNotPresent); ++number) {  // no gaps, up to the last
    const auto code = static_cast<ErrorCode>(number);
    found[std::string(error_code_name(code))] = static_cast<int>(exit_code_for(code));
  }

  EXPECT_EQ(found, documented_exit_codes());
}

TEST(ExitCode, OfANumberThatIsNoCodeIsOurBug) {
  EXPECT_EQ(exit_code_for(static_cast<ErrorCode>(12345)), ExitCode::kBug);
}

TEST(Outcome, KeepsTheCodeOfTheCommand) {
  Outcome outcome;

  outcome.finish(ExitCode::kCheckFailed);

  EXPECT_EQ(outcome.code(), ExitCode::kCheckFailed);
}

TEST(Outcome, PrintsAnErrorWithControlCharactersSpelledOut) {
  Outcome outcome;

  ::testing::internal::CaptureStderr();
  outcome.finish(Error{ErrorCode::kMalformed, "record \x1b[31mred"});
  const std::string printed = ::testing::internal::GetCapturedStderr();

  EXPECT_EQ(outcome.code(), ExitCode::kFile);
  EXPECT_EQ(printed, "fatctx: record \\x1b[31mred (malformed)\n");
}

// A command line with one subcommand "walk", a flag, an option with a value, and one with a short name.
class PrepareArguments : public ::testing::Test {
 protected:
  PrepareArguments() {
    app_.add_flag("--version");
    CLI::App* walk = app_.add_subcommand("walk", "");
    walk->add_option("FILE", file_);
    walk->add_flag("--tensors-from", flag_);
    walk->add_option("--extra-flag", value_);
    walk->add_option("-o,--output", value_);
  }

  std::string error_of(const std::vector<std::string>& arguments) const {
    const auto prepared = prepare_arguments(app_, arguments);
    return prepared.ok() ? "no error" : prepared.error().message;
  }

  CLI::App app_;
  std::string file_;
  std::string value_;
  bool flag_ = false;
};

TEST_F(PrepareArguments, TreatsUnderscoresInOptionNamesAsDashes) {
  const auto prepared = prepare_arguments(app_, {"walk", "--tensors_from", "--extra_flag=a_b"});

  ASSERT_TRUE(prepared.ok());
  EXPECT_THAT(prepared.value(), ElementsAre("walk", "--tensors-from", "--extra-flag=a_b"));
}

TEST_F(PrepareArguments, LeavesValuesAndNamesOfFilesAlone) {
  const std::vector<std::string> arguments = {"walk", "--extra-flag", "--its_own_flag=x_y", "my_file", "-o",
                                              "-",    "--",           "--odd_file"};

  const auto prepared = prepare_arguments(app_, arguments);

  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(prepared.value(), arguments);
}

TEST_F(PrepareArguments, SuggestsTheNearestOption) {
  EXPECT_THAT(error_of({"walk", "--tensor_from"}),
              HasSubstr("unknown option --tensor_from; did you mean --tensors-from?"));
  EXPECT_THAT(error_of({"walk", "--exta-flag=7"}), HasSubstr("did you mean --extra-flag?"));
}

TEST_F(PrepareArguments, SuggestsNothingForAWordThatIsLikeNone) {
  EXPECT_THAT(error_of({"walk", "--zzzzzz"}), Not(HasSubstr("did you mean")));
  EXPECT_THAT(error_of({"walk", "--zzzzzz"}), HasSubstr("fatctx walk --help"));
}

TEST_F(PrepareArguments, SuggestsTheNearestCommand) {
  EXPECT_THAT(error_of({"wakl"}), HasSubstr("unknown command wakl; did you mean walk?"));
}

TEST_F(PrepareArguments, RefusesAnUnknownShortOption) {
  EXPECT_THAT(error_of({"walk", "-q"}), HasSubstr("unknown option -q"));
}

TEST(RunCommand, AnswersVersionOnStdout) {
  ::testing::internal::CaptureStdout();
  const ExitCode code = run_command({"--version"});

  EXPECT_EQ(code, ExitCode::kOk);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), ::testing::MatchesRegex("fatctx [0-9.]+\n"));
}

TEST(RunGuarded, TurnsLackOfMemoryIntoAnEnvironmentError) {
  ::testing::internal::CaptureStderr();
  const ExitCode code = run_guarded([]() -> ExitCode { throw std::bad_alloc(); });

  EXPECT_EQ(code, ExitCode::kEnvironment);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "fatctx: out of memory\n");
}

TEST(RunGuarded, AsksForAReportOfAnyOtherException) {
  ::testing::internal::CaptureStderr();
  const ExitCode code = run_guarded([]() -> ExitCode { throw std::runtime_error("\x07 oops"); });
  const std::string printed = ::testing::internal::GetCapturedStderr();

  EXPECT_EQ(code, ExitCode::kBug);
  EXPECT_THAT(printed, HasSubstr("\\x07 oops"));
  EXPECT_THAT(printed, HasSubstr("please report it"));
}

TEST(RunGuarded, AsksForAReportOfAThingThatIsNoException) {
  EXPECT_EQ(run_guarded([]() -> ExitCode { throw 7; }), ExitCode::kBug);
}

TEST(Commands, AllHaveHelpThatFitsAScreen) {
  constexpr long kLinesOfAScreen = 44;
  constexpr std::size_t kColumns = 100;
  for (const CommandHook& hook : command_hooks()) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run_command({std::string(hook.name), "--help"}), ExitCode::kOk) << hook.name;
    const std::string help = ::testing::internal::GetCapturedStdout();

    EXPECT_LE(std::count(help.begin(), help.end(), '\n'), kLinesOfAScreen) << help;
    EXPECT_THAT(help, HasSubstr("\nUsage: fatctx " + std::string(hook.name)));
    EXPECT_THAT(help, ::testing::ContainsRegex("\nExample(: |s:\n  ).*fatctx ")) << hook.name;
    EXPECT_THAT(help, HasSubstr("\nMore: ")) << hook.name;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kColumns) << line;
  }
}

// Types of option values, by the word in --help. A new word must be added to one of the two lists.
const std::set<std::string> kNumbers = {"N", "SIZE", "BYTES", "KIB", "UINT", "INT", "FLOAT"};
const std::set<std::string> kWords = {
    "TEXT",    "NAME",    "FILE",     "OUT",    "DIR",     "VERSION",    "RECORD", "SPEC",  "GROUP",    "LIST", "HOW",
    "WORD",    "MODEL",   "TARGET",   "LIB",    "DLC",     "PAIRS",      "JSON",   "N,N",   "POLICY",   "BOOL", "ARCH",
    "COMMAND", "PROGRAM", "PATH",     "FOLDER", "DEVICE",  "NAME=VALUE", "DAY",    "WHAT",  "NAME.key", "NEW",  "RANGE",
    "FACTS",   "LEVEL",   "NAME.pub", "PAGE",   "PATTERN", "OLD",        "UPDATE", "INDEX", "FILE#N"};

bool takes(CLI::Option& option, const std::string& value) {
  option.clear();
  option.add_result(value);
  try {
    option.run_callback();
  } catch (const CLI::Error&) {
    return false;
  }
  return true;
}

TEST(Commands, TakeNoNumberThatTheyCannotHold) {
  std::size_t numbers = 0;
  for (const CommandHook& hook : command_hooks()) {
    CLI::App app;
    Outcome outcome;
    hook.add(app, outcome);
    CLI::App& command = *app.get_subcommand(std::string(hook.name));
    for (CLI::Option* const option :
         command.get_options([](const CLI::Option* o) { return o->get_expected_max() > 0; })) {
      const std::string name = std::string(hook.name) + " " + option->get_name();
      const std::string type = option->get_type_name().substr(0, option->get_type_name().find(':'));
      EXPECT_TRUE(kNumbers.contains(type) || kWords.contains(type)) << name << " takes an unknown " << type;
      const bool list_of_numbers = type == "LIST" && option->check_lname("vtcm-mb");
      if (!kNumbers.contains(type) && !list_of_numbers) continue;
      ++numbers;
      EXPECT_TRUE(takes(*option, "4")) << name;
      for (const char* const wrong : {"18446744073709551616", "-1", "-18446744073709551612", "4x", "4.5", " 4", "+4"}) {
        EXPECT_FALSE(takes(*option, wrong)) << name << " takes " << wrong;
      }
      if (type != "SIZE") continue;
      EXPECT_TRUE(takes(*option, "4GiB")) << name;
      for (const char* const wrong : {"18446744073709551616KiB", "18446744073709551615KiB", "-1KiB"}) {
        EXPECT_FALSE(takes(*option, wrong)) << name << " takes " << wrong;
      }
    }
  }
  EXPECT_GE(numbers, 20U);
}

}  // namespace command_test
}  // namespace fatctx::tools
