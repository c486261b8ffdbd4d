// `fatctx compile --command`: any program as the compiler. The programs are shell scripts that write what their
// arguments say. Shows S4.2 and S4.38.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fatctx/container.h"
#include "support/dlc_file.h"
#include "support/result_matchers.h"
#include "tools/command_compile.h"
#include "tools/command_fixture.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace {

using support::is_ok;
using support::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class CompileCommand : public support::CommandTest {
 protected:
  CompileCommand() {
    support::write_model(path("net.onnx"), support::fixed_model());
    compiler("printf 'built for %s from %s' \"$1\" \"$(basename $2)\" > \"$3\"\n");
  }
  void compiler(const std::string& body) const {
    support::write_script(path("mycc"), "echo call >> " + path("calls") + "\n" + body);
  }
  ExitCode run(std::vector<std::string> more, const std::string& places = "{target} {model} {output}",
               const std::string& output = {}) {
    std::vector<std::string> arguments = {
        "compile", path("net.onnx"), "--command", path("mycc") + " " + places,
        "--cache", path("cache"),    "-o",        output.empty() ? path("out.fatctx") : output};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_and_keep(arguments);
  }
  [[nodiscard]] std::string payload(const std::string& record) const {
    const auto container = Container::open(path("out.fatctx"));
    if (!container.ok()) return container.error().message;
    const auto view = container.value().acquire(record);
    if (!view.ok()) return view.error().message;
    return {reinterpret_cast<const char*>(view.value().bytes().data()), view.value().bytes().size()};
  }
};

TEST_F(CompileCommand, PacksWhatTheProgramWroteForEachTarget) {
  ASSERT_EQ(run({"--target", "SM8650", "--target", "aarch64+dotprod", "--target", "cuda:sm_90", "--format", "mine"}),
            ExitCode::kOk)
      << err_;

  EXPECT_EQ(payload("net.SM8650"), "built for SM8650 from net.onnx");
  EXPECT_EQ(payload("net.cuda.sm_90"), "built for cuda.sm_90 from net.onnx");
  const auto container = Container::open(path("out.fatctx")).value();
  const auto htp = container.find("net.SM8650").value();
  EXPECT_EQ(htp.key.backend, "htp");
  EXPECT_EQ(htp.key.qnn_soc, 57U);
  EXPECT_EQ(htp.key.arch, "v75");
  EXPECT_EQ(container.find("net.aarch64+dotprod").value().key.features, "dotprod");
  EXPECT_EQ(container.find("net.cuda.sm_90").value().key.backend, "cuda");
  const auto description = container.describe().value();
  ASSERT_EQ(description.records.size(), 3U);
  EXPECT_EQ(description.records[0].format, "mine");
  EXPECT_EQ(description.records[0].producer, "mycc");
}

TEST_F(CompileCommand, CompilesAgainOnlyWhatChanged) {
  const std::vector<std::string> targets = {"--target", "SM8650", "--target", "SM8750", "--force"};
  ASSERT_EQ(run(targets), ExitCode::kOk) << err_;
  ASSERT_EQ(run(targets), ExitCode::kOk) << err_;
  EXPECT_EQ(calls(), 2U);

  compiler("printf 'another compiler' > \"$3\"\n");
  ASSERT_EQ(run(targets), ExitCode::kOk) << err_;
  EXPECT_EQ(calls(), 4U);
  EXPECT_EQ(payload("net.SM8650"), "another compiler");
}

TEST_F(CompileCommand, OneTargetThatFailsStopsNoOtherAndWritesNothing) {
  compiler("if [ \"$1\" = SM8650 ]; then echo 'error: no such chip' >&2; exit 3; fi\nprintf ok > \"$3\"\n");
  support::write_text(path("out.fatctx"), "precious");

  EXPECT_EQ(run({"--target", "SM8650", "--target", "SM8750", "--force"}), ExitCode::kCheckFailed);

  EXPECT_EQ(calls(), 2U);
  EXPECT_THAT(err_, HasSubstr("FAILED  mycc failed with exit code 3: error: no such chip"));
  EXPECT_THAT(err_, HasSubstr("1 of 2 targets failed"));
  EXPECT_EQ(support::read_file(path("out.fatctx")).size(), 8U);
}

TEST_F(CompileCommand, SuccessWithoutAFileIsAFailure) {
  compiler("exit 0\n");
  EXPECT_EQ(run({"--target", "SM8650"}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("mycc reported success but wrote no output.bin"));

  compiler(": > \"$3\"\n");
  EXPECT_EQ(run({"--target", "SM8650"}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("wrote an empty output.bin"));
}

TEST_F(CompileCommand, ADlcIsReadBackAndComparedWithTheTarget) {
  support::write_file(path("two.dlc"), support::two_socs().write());
  compiler("cp " + path("two.dlc") + " \"$3\"\n");

  EXPECT_EQ(run({"--target", "SM8550"}), ExitCode::kCheckFailed);

  EXPECT_THAT(err_, HasSubstr("asked for SM8550, and the compiler wrote a context binary for SoC 57"));
}

TEST_F(CompileCommand, MistakesAreFoundBeforeAnythingRuns) {
  EXPECT_EQ(run({"--target", "SM8650"}, "{model}"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("{output} is missing"));
  EXPECT_EQ(run({"--target", "SM8650"}, "{output} {acrh}"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("did you mean {arch}?"));
  EXPECT_EQ(run({"--target", "SM8650"}, "{output} '{model}"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("a ' is opened and not closed"));
  EXPECT_EQ(run({"--target", "aarch64"}, "{output} {soc}"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("--command has {soc}, and target aarch64 says none"));
  EXPECT_EQ(run({"--target", "SM8551"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("did you mean SM8550"));
  EXPECT_EQ(run({}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("no target"));
  EXPECT_EQ(run({"--target", "SM8650", "--target", "SM8650"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("is there twice"));
  EXPECT_EQ(calls(), 0U);

  std::filesystem::remove(path("mycc"));
  EXPECT_EQ(run({"--target", "SM8650"}), ExitCode::kEnvironment);
  EXPECT_THAT(err_, HasSubstr("there is no program"));
}

// All that a container would say is said by the manifest.
TEST_F(CompileCommand, PartsAndTheirManifestPackToTheSameBytes) {
  const std::vector<std::string> flags = {"--target",      "SM8650", "--target",  "SM8750",
                                          "--common-arch", "v75",    "--sharing", "off"};
  ASSERT_EQ(run(flags), ExitCode::kOk) << err_;
  ASSERT_EQ(run(flags, "{target} {model} {output}", path("parts/")), ExitCode::kOk) << err_;

  ASSERT_EQ(run_and_keep({"pack", path("parts/manifest.json"), "-o", path("packed.fatctx")}), ExitCode::kOk) << err_;

  EXPECT_EQ(support::read_file(path("packed.fatctx")), support::read_file(path("out.fatctx")));
  const auto description = Container::open(path("packed.fatctx")).value().describe().value();
  ASSERT_EQ(description.options.size(), 1U);
  EXPECT_EQ(description.options[0].key, "common_arch");
  EXPECT_THAT(text("parts/manifest.json"), HasSubstr("\"sharing\": \"off\""));
}

TEST_F(CompileCommand, PartsOfADlcAreNotTornApart) {
  support::write_file(path("two.dlc"), support::two_socs().write());
  compiler("cp " + path("two.dlc") + " \"$3\"\n");

  EXPECT_EQ(run({"--target", "htp:generic"}, "{target} {model} {output}", path("parts/")), ExitCode::kFile);

  EXPECT_THAT(err_,
              HasSubstr("is a part of what the compiler wrote, not a file of its own, and cannot lie in a folder"));
  EXPECT_FALSE(std::filesystem::exists(path("parts")));
}

TEST_F(CompileCommand, FlagsOfOtherCompilersAndFormsAreRefused) {
  const auto refused = [&](std::vector<std::string> flags, const std::string& why, const std::string& output = {}) {
    flags.insert(flags.end(), {"--target", "SM8650"});
    EXPECT_EQ(run(flags, "{target} {model} {output}", output), ExitCode::kUsage) << why;
    EXPECT_THAT(err_, HasSubstr(why));
  };
  refused({"--iree-bin", path("")}, "--iree-bin is for IREE's compiler");
  refused({"--qnn-python", "python3"}, "--qnn-python is for Snapdragon's compiler");
  refused({"--targets", path("targets.json")}, "--targets is for IREE's compiler");
  refused({"--seal"}, "--seal is for a container", path("parts/"));
  refused({"--no-cache"}, "--cache and --no-cache contradict each other");
  refused({}, "leave --command out", path("out.dlc"));
  EXPECT_EQ(calls(), 0U);

  EXPECT_EQ(run({"--target", "SM8650", "--backend", "libQnnHtp.so"}), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, HasSubstr("--backend libQnnHtp.so: not used, because --command compiles"));
}

TEST_F(CompileCommand, WritesPartsAndAManifestThatPacks) {
  ASSERT_EQ(run({"--target", "SM8650", "--keep-source"}, "{target} {model} {output}", path("parts/")), ExitCode::kOk)
      << err_;

  EXPECT_TRUE(std::filesystem::exists(path("parts/net.SM8650.bin")));
  EXPECT_TRUE(std::filesystem::exists(path("parts/net.source.onnx")));
  EXPECT_EQ(run_command({"pack", path("parts/manifest.json"), "-o", path("packed.fatctx")}), ExitCode::kOk);
  const auto packed = Container::open(path("packed.fatctx"));
  ASSERT_TRUE(is_ok(packed));
  EXPECT_EQ(packed.value().find("net.SM8650").value().key.qnn_soc, 57U);
  EXPECT_EQ(packed.value().find("net.source.onnx").value().type, RecordType::kSourceModel);
}

TEST(CommandTemplates, KeepWhatIsQuotedTogetherAndKnowNoShell) {
  const auto parsed = CommandTemplate::parse("cc '-o' \"{output}\" --in='{model} x' {{y} $HOME");
  ASSERT_TRUE(is_ok(parsed));
  CommandTarget target;
  target.label = "t";
  const auto filled = parsed.value().fill(target, {"a b.onnx", "out", "warn"});
  ASSERT_TRUE(is_ok(filled));
  EXPECT_THAT(filled.value(), ElementsAre("cc", "-o", "out", "--in=a b.onnx x", "{y}", "$HOME"));
}

}  // namespace
}  // namespace fatctx::tools
