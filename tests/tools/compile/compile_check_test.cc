// The check of `fatctx compile` against ONNX Runtime, with fake compilers and a fake Python beside them: a shell script
// that keeps the request and prints the verdict that a file holds. tests/tools/compile/compile_iree_test.py uses the
// real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "fatctx/device.h"
#include "support/result_matchers.h"
#include "support/set_variable.h"
#include "tools/command_fixture.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace compile_check_test {

using support::is_ok;
using ::testing::HasSubstr;
using ::testing::Not;

class CompileCheck : public support::CommandTest {
 protected:
  CompileCheck() {
    support::write_model(path("net.onnx"), support::tiny_model());
    support::write_fake_iree(path(""));
    set_python("cat " + path("verdict") + "\n");
    set_verdict("agrees", "agrees with ONNX Runtime within 1e-07 (y)");
  }

  // `body` runs for each check; `versions` when the program is asked for them.
  void set_python(const std::string& body, const std::string& versions = "echo '{\"iree\": \"9.8.0\"}'") const {
    support::write_script(path("bin/python3"), "if [ \"$1\" = -c ]; then " + versions + "; exit; fi\necho check >> " +
                                                   path("calls") + "\ncp request.json " + path("request.json") + "\n" +
                                                   body);
  }
  void set_verdict(const std::string& verdict, const std::string& said) const {
    support::write_text(path("verdict"),
                        "a line of a library\n" + nlohmann::json{{"verdict", verdict}, {"text", said}}.dump() + "\n");
  }

  ExitCode run(std::vector<std::string> more, const std::string& target = *detect_device().device.arch) {
    std::vector<std::string> arguments = {"compile", path("net.onnx"),  "--iree-bin", path("bin"),
                                          "--cache", path("cache"),     "--target",   target,
                                          "-o",      path("out.fatctx")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_and_keep(arguments);
  }
  [[nodiscard]] bool wrote_output() const { return std::filesystem::exists(path("out.fatctx")); }
};

TEST_F(CompileCheck, ATargetThatAgreesSaysSoAndIsNotRunAgain) {
  ASSERT_EQ(run({"--json"}), ExitCode::kOk) << err_;

  EXPECT_THAT(err_, HasSubstr("agrees with ONNX Runtime within 1e-07 (y)"));
  EXPECT_EQ(nlohmann::json::parse(out_)["targets"][0]["check"], "agrees with ONNX Runtime within 1e-07 (y)");
  const auto request = nlohmann::json::parse(text("request.json"));
  EXPECT_EQ(request["model"], path("net.onnx"));
  EXPECT_EQ(request["scope"], "model");
  EXPECT_TRUE(std::filesystem::path(request["module"].get<std::string>()).is_absolute());
  EXPECT_THAT(request["parameters"].get<std::string>(), HasSubstr("model_params.irpa"));

  ASSERT_EQ(run({"--force"}), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, HasSubstr("agrees with ONNX Runtime within 1e-07 (y)"));
  EXPECT_EQ(calls(), 1U);
}

TEST_F(CompileCheck, ATargetThatDiffersIsRefusedEachTime) {
  set_verdict("differs", "output y has the shape (1, 0), and ONNX Runtime gives (1, 4)");

  for (const std::size_t expected : {1U, 2U}) {
    EXPECT_EQ(run({}), ExitCode::kCheckFailed);
    EXPECT_EQ(calls(), expected);
  }

  EXPECT_THAT(err_, HasSubstr("FAILED  compiled, and the check refuses it: output y has the shape (1, 0)"));
  EXPECT_THAT(err_, HasSubstr("fix the sizes that the model leaves open (--shape x=A,3)"));
  EXPECT_THAT(err_, HasSubstr("--no-check accepts it"));
  EXPECT_FALSE(wrote_output());

  EXPECT_EQ(run({"--no-check"}), ExitCode::kOk) << err_;
  EXPECT_EQ(calls(), 2U);
  EXPECT_THAT(err_, Not(HasSubstr("check")));
}

TEST_F(CompileCheck, ACheckThatCrashesIsARefusalUnlessTheVerdictIsKnown) {
  set_python("kill -9 $$\n");
  EXPECT_EQ(run({}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("running it was ended by signal 9"));

  set_python("kill -14 $$\n");
  EXPECT_EQ(run({}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("it did not end within 600 seconds"));

  set_python("echo nonsense; exit 3\n");
  EXPECT_EQ(run({}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("exit code 3 and no verdict"));
  EXPECT_FALSE(wrote_output());

  set_python("cat " + path("verdict") + "\nkill -9 $$\n");
  EXPECT_EQ(run({}), ExitCode::kOk) << err_;
}

TEST_F(CompileCheck, WhatCannotBeComparedIsAcceptedUnlessTheCheckWasAskedFor) {
  set_verdict("not_run", "input x has the type tensor(string)");

  EXPECT_EQ(run({"--check"}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("--check: compiled, and cannot be checked: input x has the type tensor(string); "
                              "--no-check packs it unchecked, and fatctx ctx-gen -e reference "));
  EXPECT_FALSE(wrote_output());

  EXPECT_EQ(run({}), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, HasSubstr("not checked: input x has the type tensor(string)"));
}

TEST_F(CompileCheck, ATargetOfAnotherMachineIsNotRun) {
  const bool here_is_x86 = detect_device().device.arch->starts_with("x86");

  EXPECT_EQ(run({"--check"}, here_is_x86 ? "aarch64" : "x86-64-v3"), ExitCode::kOk) << err_;

  EXPECT_THAT(err_, HasSubstr("not checked: this machine cannot run it"));
  EXPECT_EQ(calls(), 0U);
}

TEST_F(CompileCheck, WithoutTheRunTimesItSaysWhatToInstall) {
  set_python("exit 1\n", "exit 1");
  const support::SetVariable no_other_python("PATH", path("bin"));
  const support::SetVariable no_environment("VIRTUAL_ENV", path("bin"));
  EXPECT_EQ(run({"--check"}), ExitCode::kEnvironment);
  EXPECT_THAT(err_, HasSubstr("--check: no Python here has both run times; install iree-base-runtime, onnxruntime"));

  set_python("exit 1\n", "echo '{\"iree\": \"9.7.0\"}'");  // it might refuse what another version compiled
  EXPECT_EQ(run({"--check"}), ExitCode::kEnvironment);
  EXPECT_THAT(err_, HasSubstr("has IREE's run time 9.7.0, and its compiler is 9.8.7; install the same of both"));
}

TEST_F(CompileCheck, ALargeModelIsCheckedOnlyIfAsked) {
  support::write_model(path("net.onnx"), support::external_model("weights.bin"));
  support::write_text(path("weights.bin"), std::string(69, 'w'));
  std::filesystem::resize_file(path("weights.bin"), std::uintmax_t{65} << 20);

  EXPECT_EQ(run({}), ExitCode::kOk) << err_;
  EXPECT_THAT(err_,
              HasSubstr("note: not checked against ONNX Runtime: the model has 65.0 MiB, and more than 64.0 MiB"));
  EXPECT_EQ(calls(), 0U);

  EXPECT_EQ(run({"--check", "--force"}), ExitCode::kOk) << err_;
  EXPECT_EQ(calls(), 1U);
}

TEST_F(CompileCheck, FixedSizesAreWhatRuns) {
  support::write_model(path("net.onnx"), support::external_model("weights.bin"));
  support::write_text(path("weights.bin"), std::string(69, 'w'));
  set_python("ls $(dirname $(sed -n 's/.*\"model\": \"\\([^\"]*\\)\".*/\\1/p' request.json)) > " + path("listing") +
             "\ncat " + path("verdict") + "\n");

  ASSERT_EQ(run({"--shape", "x=2,3"}), ExitCode::kOk) << err_;

  EXPECT_THAT(text("listing"), HasSubstr("model.onnx"));
  EXPECT_THAT(text("listing"), HasSubstr("weights.bin")) << "ONNX Runtime looks for it beside the model";
}

TEST_F(CompileCheck, BothFlagsContradictEachOther) {
  EXPECT_EQ(run({"--check", "--no-check"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("--check and --no-check contradict each other"));
}

}  // namespace compile_check_test
}  // namespace fatctx::tools
