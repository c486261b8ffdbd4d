// run_process() and find_program() on Windows. subprocess_test.cc shows the same with programs of POSIX.
#ifdef _WIN32
#include <gtest/gtest.h>
#include <windows.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <shellapi.h>

#include "support/result_matchers.h"
#include "tools/cli/subprocess.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace subprocess_windows_test {

using support::fails_with;
using support::is_ok;
using support::TempDir;

// Runs a disabled test below in a process of its own.
Result<ProcessResult> itself(const std::string& test, const std::vector<std::string>& more = {},
                             const std::string& folder = "", std::size_t limit = 65536) {
  for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) {  // the child runs its test in any shard
    (void)::SetEnvironmentVariableA(name, nullptr);
  }
  std::string program(MAX_PATH, '\0');
  program.resize(::GetModuleFileNameA(nullptr, program.data(), MAX_PATH));
  std::vector<std::string> arguments = {program, "--gtest_also_run_disabled_tests",
                                        "--gtest_filter=SubprocessChild.DISABLED_" + test};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_process({.arguments = arguments, .working_folder = folder, .max_output_bytes = limit});
}

TEST(SubprocessChild, DISABLED_PrintsItsArguments) {
  int count = 0;
  wchar_t** const arguments = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  for (int i = 0; i < count; ++i) std::printf("[%ls]\n", arguments[i]);
  ::LocalFree(arguments);
}
TEST(SubprocessChild, DISABLED_SaysSomethingAndEndsWith7) {
  std::printf("[out]\n");
  std::fprintf(stderr, "[err]\n");
  (void)std::fflush(nullptr);
  std::_Exit(7);
}
TEST(SubprocessChild, DISABLED_ReadsItsInputAndMakesAFile) {
  std::printf("[%d]\n", std::getchar());
  std::ofstream("made") << "x";
}
TEST(SubprocessChild, DISABLED_PrintsMuch) {
  for (int i = 0; i < 100'000; ++i) std::printf("xxxxxxxxx\n");
}
TEST(SubprocessChild, DISABLED_Sleeps) { ::Sleep(3000); }

TEST(SubprocessOnWindows, BothStreamsAndTheExitCodeComeBack) {
  const auto result = itself("SaysSomethingAndEndsWith7");
  ASSERT_TRUE(is_ok(result));
  EXPECT_NE(result.value().output.find("[out]"), std::string::npos);
  EXPECT_EQ(result.value().output.find("[err]"), std::string::npos);
  EXPECT_EQ(result.value().error_output, "[err]\r\n");
  EXPECT_EQ(result.value().exit_code, 7);
  EXPECT_EQ(result.value().signal, 0);
  EXPECT_FALSE(result.value().succeeded());
}

TEST(SubprocessOnWindows, ArgumentsArriveAsTheyAre) {
  const std::vector<std::string> arguments = {
      "%PATH%; `id` * \"quoted\" a b", "", "ends in \\", "\\\"", "a\tb", "plain"};
  const auto result = itself("PrintsItsArguments", arguments);
  ASSERT_TRUE(is_ok(result));
  for (const std::string& argument : arguments) {
    EXPECT_NE(result.value().output.find("[" + argument + "]"), std::string::npos) << argument;
  }
}

TEST(SubprocessOnWindows, ItRunsInItsFolderWithAnEmptyInput) {
  const TempDir folder;
  const auto result = itself("ReadsItsInputAndMakesAFile", {}, folder.path());
  ASSERT_TRUE(is_ok(result));
  EXPECT_NE(result.value().output.find("[-1]"), std::string::npos) << "the end of the input";
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"made"}));
}

TEST(SubprocessOnWindows, OfMuchOutputTheBeginningAndTheEndAreKept) {
  const auto result = itself("PrintsMuch", {}, "", 1000);
  ASSERT_TRUE(is_ok(result));
  const std::string& output = result.value().output;
  EXPECT_LT(output.size(), 1100U);
  EXPECT_NE(output.find("Running main"), std::string::npos);
  EXPECT_NE(output.find("bytes left out"), std::string::npos);
  EXPECT_NE(output.find("PASSED"), std::string::npos);
}

TEST(SubprocessOnWindows, WhatCannotRunIsAnError) {
  const TempDir folder;
  support::write_text(folder.file("text.exe"), "no program");
  EXPECT_TRUE(
      fails_with(run_process({.arguments = {folder.file("none.exe")}, .working_folder = ""}), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(run_process({.arguments = {folder.file("text.exe")}, .working_folder = ""}),
                         ErrorCode::kOperationNotPermitted));
}

TEST(SubprocessOnWindows, ThreadsDoNotHoldEachOthersPipes) {
  // A write end leaked to the slow program would keep the fast one's output open until the slow one ends.
  std::thread slow([] { EXPECT_TRUE(is_ok(itself("Sleeps"))); });
  double shortest = 100;
  for (int i = 0; i < 4; ++i) {
    const auto quick = itself("PrintsItsArguments");
    if (quick.ok()) shortest = std::min(shortest, quick.value().seconds);
  }
  slow.join();
  EXPECT_LT(shortest, 2.5);
}

TEST(SubprocessOnWindows, FindsProgramsWithOrWithoutTheirEnding) {
  EXPECT_TRUE(find_program("cmd.exe").has_value());
  EXPECT_TRUE(find_program("cmd").has_value());
  EXPECT_FALSE(find_program("fatctx-no-such-tool").has_value());
}

}  // namespace subprocess_windows_test
}  // namespace fatctx::tools
#endif
