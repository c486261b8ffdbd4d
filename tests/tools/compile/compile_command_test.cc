// `fatctx compile --command`: any program as the compiler. The programs are shell scripts whose arguments select their
// output. Shows S4.2 and S4.38.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fatctx/container.h"
#include "support/dlc_file.h"
#include "support/result_matchers.h"
#include "tools/command_fixture.h"
#include "tools/compile/command_compile.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace compile_command_test {

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

TEST_F(CompileCommand, APlantedResultIsNotPackedAndIsSaid) {
  const std::vector<std::string> target = {"--target", "SM8650", "--format", "mine", "--force"};
  ASSERT_EQ(run(target), ExitCode::kOk) << err_;
  for (const auto& entry : std::filesystem::directory_iterator(path("cache/v2"))) {
    for (const auto& file : std::filesystem::directory_iterator(entry.path())) {
      if (file.path().filename() != "entry.json") support::write_text(file.path().string(), "planted");
    }
  }
  ASSERT_EQ(run(target), ExitCode::kOk) << err_;
  EXPECT_EQ(payload("net.SM8650"), "built for SM8650 from net.onnx");
  EXPECT_EQ(calls(), 2U);
  EXPECT_THAT(err_, HasSubstr("note: cache entry "));
  EXPECT_THAT(err_, HasSubstr("has other bytes; it was not used, and is made anew"));

  std::filesystem::permissions(path("cache"), std::filesystem::perms(0777));
  EXPECT_EQ(run(target), ExitCode::kEnvironment);
  EXPECT_THAT(err_, HasSubstr("its mode is 0777 and must be 0700"));
  EXPECT_EQ(calls(), 2U);
}

TEST_F(CompileCommand, AModelThatChangesWhileItIsCompiledIsAnError) {
  compiler("printf x >> " + path("net.onnx") + "\nprintf built > $3\n");

  EXPECT_NE(run({"--target", "SM8650", "--format", "mine"}), ExitCode::kOk);

  EXPECT_THAT(err_, HasSubstr("was written to while it was compiled"));
  EXPECT_FALSE(std::filesystem::exists(path("out.fatctx")));
}

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

TEST_F(CompileCommand, EachSetOfShapesIsHandedOnAsAModelOfItsOwn) {
  support::write_model(path("net.onnx"), support::tiny_model());
  compiler("cp $2 $3\n");

  ASSERT_EQ(run({"--target", "SM8650", "--shape", "x=1,3", "--shape", "x=6,3", "--format", "mine"}), ExitCode::kOk)
      << err_;

  for (const auto& [unit, batch] : {std::pair{"1x3", 1}, std::pair{"6x3", 6}}) {
    support::write_text(path("seen.onnx"), payload(std::string("net.") + unit + ".SM8650"));
    const auto seen = read_onnx(path("seen.onnx"));
    ASSERT_TRUE(is_ok(seen)) << unit;
    EXPECT_EQ(seen.value().graph.inputs[0].shape, (std::vector<std::int64_t>{batch, 3}));
  }
}

TEST_F(CompileCommand, ShapesThatCannotBeFixedAreRefused) {
  support::write_model(path("net.onnx"), support::external_model("weights.bin"));
  support::write_text(path("weights.bin"), std::string(69, 'w'));
  EXPECT_EQ(run({"--target", "SM8650", "--shape", "x=1,3"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("has its weights in other files"));

  support::write_text(path("net.tflite"), "model");
  EXPECT_EQ(run_and_keep({"compile", path("net.tflite"), "--command", path("mycc") + " {output}", "--target", "SM8650",
                          "--shape", "x=1,3", "-o", path("out.fatctx")}),
            ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("is not an ONNX model"));
  EXPECT_EQ(calls(), 0U);
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

// A changed input file is noticed in every form: named in a part of an argument, in no argument, or inside a folder.
TEST_F(CompileCommand, WhatTheCommandReadsIsCompiledAnewWhenItChanges) {
  const auto compiled = [&](const std::string& model, const std::string& places) {
    const std::size_t before = calls();
    EXPECT_EQ(run_and_keep({"compile", path(model), "--target", "SM8650", "--command", path("mycc") + " " + places,
                            "--cache", path("cache"), "-o", path("out.fatctx"), "--force"}),
              ExitCode::kOk)
        << err_;
    return calls() - before;
  };
  compiler("printf x > \"${1#*=}\"\n");
  std::filesystem::create_directories(path("folder/sub"));
  for (const std::string file : {"a.tflite", "folder/sub/part"}) {
    const std::string model = file.substr(0, file.find('/'));
    for (const char* const places : {"-o={output} --model={model}", "-o={output}"}) {
      support::write_text(path(file), "one");
      EXPECT_EQ(compiled(model, places), 1U) << file;
      EXPECT_EQ(compiled(model, places), 0U) << file;
      support::write_text(path(file), "two");
      EXPECT_EQ(compiled(model, places), 1U) << file << " " << places;
    }
  }
}

// The folder of an SDK among the arguments is not read: it may have gigabytes, and unreadable files.
TEST_F(CompileCommand, AFolderAmongTheArgumentsIsNoInput) {
  compiler("printf x > \"$1\"\n");
  std::filesystem::create_directories(path("sdk"));
  for (const char* const version : {"one", "two"}) {
    support::write_text(path("sdk/tool"), version);
    EXPECT_EQ(run({"--target", "SM8650", "--force"}, "{output} --sdk=" + path("sdk") + " " + path("sdk")),
              ExitCode::kOk)
        << err_;
  }
  EXPECT_EQ(calls(), 1U);
}

TEST_F(CompileCommand, AConfigurationThatChangesIsCompiledAnew) {
  const auto configure = [&](const char* cores) {
    support::write_text(path("main.json"), R"({"backend_extensions": {"config_file_path": "a.json"}})");
    support::write_text(path("a.json"), R"({"graphs": [{"graph_names": ["tiny"], "hvx_threads": )" +
                                            std::string(cores) + R"(}], "devices": [{"soc_id": 57}]})");
  };
  compiler("cp \"${1#*=}\" \"$2\"\n");
  const std::vector<std::string> flags = {"--config_file", path("main.json"), "--force"};
  configure("1");
  ASSERT_EQ(run(flags, "--config={config} {output}"), ExitCode::kOk) << err_;
  configure("2");
  ASSERT_EQ(run(flags, "--config={config} {output}"), ExitCode::kOk) << err_;

  EXPECT_EQ(calls(), 2U);
  EXPECT_EQ(payload("net.SM8650"), text("a.json"));
}

TEST_F(CompileCommand, AModelThatIsNotThereIsFoundBeforeTheProgramRuns) {
  EXPECT_EQ(run_and_keep({"compile", path("no.tflite"), "--target", "SM8650", "--command", path("mycc") + " {output}",
                          "--no-cache", "-o", path("out.fatctx")}),
            ExitCode::kUsage);

  EXPECT_THAT(err_, HasSubstr("no.tflite: not there"));
  EXPECT_EQ(calls(), 0U);
}

TEST_F(CompileCommand, CtrlCEndsItAfterWhatIsUnderWayAndLeavesNoWorkBehind) {
  compiler("kill -INT $PPID\nprintf ok > \"$3\"\n");

  EXPECT_EQ(run({"--target", "SM8650", "--target", "SM8750", "-j", "1"}), ExitCode::kEnvironment);

  EXPECT_EQ(calls(), 1U);
  EXPECT_THAT(err_, HasSubstr("interrupted"));
  EXPECT_FALSE(std::filesystem::exists(path("out.fatctx")));
  EXPECT_TRUE(std::filesystem::is_empty(path("cache/work")));
}

TEST_F(CompileCommand, WarnsOfTheModelAndOfItsTargetsAsForTheVendorsCompiler) {
  ASSERT_EQ(run({"--htp_socs", "SM8550,SM8750"}), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, HasSubstr("warning: the model is not quantised"));
  EXPECT_THAT(err_, Not(HasSubstr("--quant")));

  support::write_text(path("main.json"),
                      R"({"backend_extensions": {"per_soc_config_file_path": ["a.json", "b.json"]}})");
  for (const auto& [file, soc] : {std::pair{"a.json", "57"}, std::pair{"b.json", "69"}}) {
    support::write_text(
        path(file), std::string(R"({"graphs": [{"graph_names": ["tiny"], "dlbc": 1}], "devices": [{"soc_id": )") + soc +
                        R"(}], "context": {"reference_weight_sharing_enabled": true}})");
  }
  ASSERT_EQ(run({"--config_file", path("main.json"), "--force"}), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, HasSubstr("has bandwidth compression (dlbc)"));
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

TEST_F(CompileCommand, TheFormAndTheLogLevelAreHandedOn) {
  compiler("printf '%s' \"$1\" > \"$2\"\n");
  ASSERT_EQ(run({"--target", "SM8650", "--log_level", "verbose"}, "{log_level} {output}"), ExitCode::kOk) << err_;
  EXPECT_EQ(payload("net.SM8650"), "verbose");

  support::write_file(path("two.dlc"), support::two_socs().write());
  compiler("cp " + path("two.dlc") + " \"$1\"\n");
  EXPECT_EQ(run({"--target", "htp:generic", "--format", "mine", "--force"}, "{output}"), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("wrote a file that begins like dlc, and --format says mine"));
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
  EXPECT_EQ(run({"--target", "SM8650", "--target", "57"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("appears twice, also as"));
  EXPECT_EQ(run({"--target", "SM8650", "--name", "org/net"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("their names have no"));
  EXPECT_EQ(run({"--target", "SM8650", "--command", ""}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("the value is empty"));
  EXPECT_EQ(run({"--target", "SM8650"}, "{output}", path("nowhere/out.fatctx")), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("there is no folder"));
  EXPECT_EQ(run({"--target", "SM8650"}, "{output}", path("mycc") + "/"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("is a file, and the parts go into a folder"));
  EXPECT_EQ(run({"--target", "SM8650", "--force"}, "{output}", path("net.onnx")), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("is the model itself"));
  EXPECT_EQ(run({"--htp_socs", "57", "--sharing", "pages", "--reference_weight_sharing_enabled_override", "false"}),
            ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("both say whether records share"));
  EXPECT_EQ(run({"--target", "SM8650", "--target", "SM8650"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("appears twice"));
  EXPECT_EQ(calls(), 0U);

  std::filesystem::remove(path("mycc"));
  EXPECT_EQ(run({"--target", "SM8650"}), ExitCode::kEnvironment);
  EXPECT_THAT(err_, HasSubstr("there is no program"));
}

// The manifest has everything that the container would have.
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

  EXPECT_THAT(
      err_, HasSubstr("is a part of what the compiler wrote, not a file of its own, and cannot be stored in a folder"));
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
  ASSERT_EQ(run({"--target", "SM8650", "--keep-source"}), ExitCode::kOk) << err_;
  ASSERT_EQ(run({"--target", "SM8650", "--keep-source"}, "{target} {model} {output}", path("parts/")), ExitCode::kOk)
      << err_;

  EXPECT_TRUE(std::filesystem::exists(path("parts/net.SM8650.bin")));
  EXPECT_TRUE(std::filesystem::exists(path("parts/net.source.onnx")));
  EXPECT_EQ(run_and_keep({"pack", path("parts/manifest.json"), "-o", path("packed.fatctx")}), ExitCode::kOk) << err_;
  EXPECT_EQ(support::read_file(path("packed.fatctx")), support::read_file(path("out.fatctx")));
  const auto packed = Container::open(path("packed.fatctx"));
  ASSERT_TRUE(is_ok(packed));
  EXPECT_EQ(packed.value().find("net.SM8650").value().key.qnn_soc, 57U);
  EXPECT_EQ(packed.value().find("net.source.onnx").value().type, RecordType::kSourceModel);
}

TEST_F(CompileCommand, WhatTheHintSaysPacksAModelWithOpenSizesToo) {
  support::write_model(path("net.onnx"), support::tiny_model());
  ASSERT_EQ(run({"--target", "SM8650"}, "{target} {model} {output}", path("parts/")), ExitCode::kOk) << err_;

  EXPECT_THAT(out_, HasSubstr("manifest.json --allow-dynamic -o"));
  EXPECT_EQ(run_and_keep({"pack", path("parts/manifest.json"), "--allow-dynamic", "-o", path("packed.fatctx")}),
            ExitCode::kOk)
      << err_;
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

}  // namespace compile_command_test
}  // namespace fatctx::tools
