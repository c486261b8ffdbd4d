#include "tools/cli/subprocess.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "support/result_matchers.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace subprocess_test {

using support::fails_with;
using support::is_ok;
using support::TempDir;

Result<ProcessResult> shell(const std::string& script, const std::string& folder = "", std::size_t limit = 65536) {
  return run_process({.arguments = {"/bin/sh", "-c", script}, .working_folder = folder, .max_output_bytes = limit});
}

TEST(Subprocess, BothStreamsAndTheExitCodeComeBack) {
  const auto result = shell("echo out; echo err >&2; exit 7");

  ASSERT_TRUE(is_ok(result));
  EXPECT_EQ(result.value().output, "out\n");
  EXPECT_EQ(result.value().error_output, "err\n");
  EXPECT_EQ(result.value().exit_code, 7);
  EXPECT_EQ(result.value().signal, 0);
  EXPECT_FALSE(result.value().succeeded());
}

TEST(Subprocess, ArgumentsAreNotReadByAShell) {
  const auto result = run_process({.arguments = {"/bin/echo", "$HOME; `id` * \"quoted\" a b"}, .working_folder = ""});

  ASSERT_TRUE(is_ok(result));
  EXPECT_EQ(result.value().output, "$HOME; `id` * \"quoted\" a b\n");
}

TEST(Subprocess, ItRunsInItsFolderWithAnEmptyInput) {
  const TempDir folder;
  const auto result = shell("pwd; cat; touch made", folder.path());

  ASSERT_TRUE(is_ok(result));
  EXPECT_EQ(std::filesystem::canonical(result.value().output.substr(0, result.value().output.size() - 1)),
            std::filesystem::canonical(folder.path()));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"made"}));
}

TEST(Subprocess, ASignalIsReported) {
  const auto result = shell("kill -KILL $$");

  ASSERT_TRUE(is_ok(result));
  EXPECT_EQ(result.value().signal, SIGKILL);
  EXPECT_FALSE(result.value().succeeded());
}

TEST(Subprocess, OfMuchOutputTheBeginningAndTheEndAreKept) {
  const auto result = shell("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last", "", 1000);

  ASSERT_TRUE(is_ok(result));
  const std::string& output = result.value().output;
  EXPECT_LT(output.size(), 1100U);
  EXPECT_TRUE(output.starts_with("first\n"));
  EXPECT_TRUE(output.ends_with("\nlast\n"));
  EXPECT_NE(output.find("bytes left out"), std::string::npos);
}

TEST(Subprocess, OutputAtTheLimitIsWhole) {
  const auto result = shell("head -c 1000 /dev/zero | tr '\\0' x", "", 1000);

  ASSERT_TRUE(is_ok(result));
  EXPECT_EQ(result.value().output, std::string(1000, 'x'));
}

TEST(Subprocess, WhatCannotRunIsAnError) {
  const TempDir folder;
  support::write_text(folder.file("text"), "no program");

  EXPECT_TRUE(
      fails_with(run_process({.arguments = {folder.file("none")}, .working_folder = ""}), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(run_process({.arguments = {folder.file("text")}, .working_folder = ""}),
                         ErrorCode::kOperationNotPermitted));
}

TEST(Subprocess, ThreadsDoNotHoldEachOthersPipes) {
  // A write end leaked to the slow program would keep the fast one's output open until the slow one ends.
  std::thread slow([] { EXPECT_TRUE(is_ok(shell("sleep 3"))); });
  double longest = 0;
  for (int i = 0; i < 10; ++i) {
    const auto quick = shell("echo x");
    ASSERT_TRUE(is_ok(quick));
    longest = std::max(longest, quick.value().seconds);
  }
  slow.join();
  EXPECT_LT(longest, 2.5);
}

TEST(FindProgram, LooksWhereItIsTold) {
  const TempDir folder;
  support::write_script(folder.file("tool"), "exit 0\n");
  support::write_text(folder.file("plain"), "x");

  EXPECT_EQ(find_program("tool", folder.path()), folder.file("tool"));
  EXPECT_EQ(find_program("plain", folder.path()), std::nullopt);
  EXPECT_EQ(find_program("none", folder.path()), std::nullopt);
  EXPECT_TRUE(find_program("sh", "").has_value());
  EXPECT_EQ(find_program("fatctx-no-such-tool", ""), std::nullopt);
}

}  // namespace subprocess_test
}  // namespace fatctx::tools
