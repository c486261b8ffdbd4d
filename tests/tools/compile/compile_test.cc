// The whole of `fatctx compile` with fake compilers: shell scripts that copy prepared files, count their calls and fail
// on request. Shows S4.38: one log line for each target, and results that are read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

#include "fatctx/container.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/set_variable.h"
#include "tools/command_fixture.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace compile_test {

using support::is_ok;
using support::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;

class Compile : public support::CommandTest {
 protected:
  Compile() {
    support::write_model(path("net.onnx"), support::tiny_model());
    support::write_file(path("prepared.irpa"), support::tiny_archive());
    std::filesystem::create_directory(path("bin"));
    support::write_script(path("bin/iree-import-onnx"), "echo import >> " + path("calls") +
                                                            "\necho module > model.mlir\ncp " + path("prepared.irpa") +
                                                            " model_params.irpa\n");
    set_compiler("printf '\\010\\000\\000\\000IREE io_parameters layer/w %s' \"$*\" > module.vmfb\n");
    support::write_text(path("targets.json"), R"([{"arch": "x86-64-v2"}, {"arch": "x86-64-v3"}, {"arch": "aarch64"}])");
  }

  void set_compiler(const std::string& body) const {
    support::write_script(path("bin/iree-compile"),
                          "if [ \"$1\" = --version ]; then echo 'IREE compiler version 9.8.7 @ 0'; exit 0; fi\n"
                          "echo \"compile $*\" >> " +
                              path("calls") + "\n" + body);
  }

  ExitCode run(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"compile",   path("net.onnx"), "--iree-bin",
                                          path("bin"), "--cache",        path("cache")};
    const bool checks = std::find(more.begin(), more.end(), "--check") != more.end();
    if (!checks) arguments.emplace_back("--no-check");  // this machine may have the real run times
    if (std::find(more.begin(), more.end(), "-o") == more.end()) {
      arguments.insert(arguments.end(), {"-o", path("out.fatctx")});
    }
    if (std::find(more.begin(), more.end(), "--target") == more.end()) {
      arguments.insert(arguments.end(), {"--targets", path("targets.json")});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_and_keep(arguments);
  }
};

TEST_F(Compile, PacksOneBinaryPerTargetAndTheWeightsOnce) {
  ASSERT_EQ(run(), ExitCode::kOk) << err_;

  const auto container = Container::open(path("out.fatctx"));
  ASSERT_TRUE(is_ok(container));
  for (const char* name : {"net.x86-64-v2", "net.x86-64-v3", "net.aarch64"}) {
    const auto record = container.value().find(name);
    ASSERT_TRUE(is_ok(record)) << name;
    ASSERT_EQ(record.value().weights.size(), 1U);
    EXPECT_EQ(record.value().weights.front(), container.value().find("net.weights").value().id);
    EXPECT_EQ(record.value().key.group, "net");
    EXPECT_EQ(record.value().key.backend, "cpu");
  }
  const auto tensors = container.value().tensors(container.value().find("net.weights").value().id);
  ASSERT_TRUE(is_ok(tensors));
  const auto weight = tensors.value().view("layer/w");
  ASSERT_TRUE(is_ok(weight));
  EXPECT_EQ(weight.value().dtype(), DType::kF32);
  EXPECT_EQ(weight.value().shape().size(), 2U);
  EXPECT_THAT(err_, HasSubstr("x86-64-v3"));
}

TEST_F(Compile, DescribesGraphsProducersAndTheParameterScope) {
  ASSERT_EQ(run(), ExitCode::kOk) << err_;

  const auto container = Container::open(path("out.fatctx"));
  const auto description = container.value().describe();
  ASSERT_TRUE(is_ok(description));
  const std::uint32_t weights = container.value().find("net.weights").value().id;
  std::size_t binaries = 0;
  for (const RecordDescription& record : description.value().records) {
    if (record.record_id == weights) {
      EXPECT_EQ(record.format, "irpa");
      ASSERT_EQ(record.options.size(), 1U);
      EXPECT_EQ(record.options[0].key, "iree.parameter_scope");
      EXPECT_EQ(record.options[0].value, "model");
    } else {
      ++binaries;
      EXPECT_EQ(record.format, "iree-vmfb");
      EXPECT_EQ(record.producer, "iree-compile 9.8.7");
      ASSERT_EQ(record.graphs.size(), 1U);
      EXPECT_EQ(record.graphs[0].inputs[0].shape, (std::vector<std::int64_t>{-1, 3}));
    }
  }
  EXPECT_EQ(binaries, 3U);
}

TEST_F(Compile, ASecondRunTakesEverythingFromTheCacheAndGivesTheSameBytes) {
  ASSERT_EQ(run(), ExitCode::kOk) << err_;
  const auto first = support::read_file(path("out.fatctx"));
  EXPECT_EQ(calls(), 4U);

  ASSERT_EQ(run({"--force"}), ExitCode::kOk) << err_;

  EXPECT_EQ(calls(), 4U);
  EXPECT_EQ(support::read_file(path("out.fatctx")), first);
}

TEST_F(Compile, AChangedModelOrFlagIsCompiledAnew) {
  ASSERT_EQ(run(), ExitCode::kOk) << err_;
  support::write_text(path("targets.json"),
                      R"([{"arch": "x86-64-v2"}, {"arch": "x86-64-v3", "options": ["--iree-opt-level=O3"]}])");
  ASSERT_EQ(run({"--force"}), ExitCode::kOk) << err_;
  EXPECT_EQ(calls(), 5U) << "only the target whose flags changed";

  auto model = support::tiny_model();
  model.set_producer_name("another");
  support::write_model(path("net.onnx"), model);
  ASSERT_EQ(run({"--force"}), ExitCode::kOk) << err_;
  EXPECT_EQ(calls(), 6U) << "the import gives the same module, so no target is compiled again";
}

TEST_F(Compile, NoCacheCompilesAnewAndKeepsNothing) {
  const std::vector<std::string> arguments = {
      "compile", path("net.onnx"), "--iree-bin", path("bin"),       "--no-cache", "--targets", path("targets.json"),
      "--force", "--no-check",     "-o",         path("out.fatctx")};
  for (const std::size_t expected : {4U, 8U}) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run_command(arguments), ExitCode::kOk);
    ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(calls(), expected);
  }
  EXPECT_FALSE(std::filesystem::exists(path("cache")));
}

TEST_F(Compile, OneFailingTargetLetsTheOthersEndAndWritesNothing) {
  set_compiler(
      "case \"$*\" in *v3*) echo 'model.mlir:1: error: no such thing' >&2; exit 3;; esac\n"
      "printf '\\010\\000\\000\\000IREE io_parameters layer/w' > module.vmfb\n");

  EXPECT_EQ(run({"--json"}), ExitCode::kCheckFailed);

  EXPECT_FALSE(std::filesystem::exists(path("out.fatctx")));
  EXPECT_EQ(calls(), 4U);
  EXPECT_THAT(err_, HasSubstr("1 of 3 targets failed"));
  EXPECT_THAT(
      err_, HasSubstr("IREE does not compile this model; fix the sizes that the model leaves open (--shape x=A,3), or "
                      "fatctx ctx-gen"));
  EXPECT_THAT(err_, Not(HasSubstr("no such thing"))) << "IREE's own words are in a file";
  EXPECT_THAT(text("out.fatctx.compile.log"), HasSubstr("== x86-64-v3\nmodel.mlir:1: error: no such thing"));
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["log"], path("out.fatctx.compile.log"));
  EXPECT_EQ(json["pack"], nullptr);
  EXPECT_EQ(json["targets"][0]["ok"], true);
  EXPECT_EQ(json["targets"][1]["ok"], false);
  EXPECT_EQ(json["targets"][1]["target"], "x86-64-v3");
}

TEST_F(Compile, SuccessWithoutAModuleIsNotBelieved) {
  for (const char* body : {"exit 0\n", ": > module.vmfb\n", "echo text > module.vmfb\n"}) {
    set_compiler(body);

    EXPECT_EQ(run(), ExitCode::kCheckFailed) << body;

    EXPECT_FALSE(std::filesystem::exists(path("out.fatctx"))) << body;
  }
}

TEST_F(Compile, AnImportThatFailsEndsIt) {
  support::write_script(path("bin/iree-import-onnx"), "echo 'error: unsupported operator' >&2; exit 1\n");

  EXPECT_EQ(run(), ExitCode::kCheckFailed);

  EXPECT_THAT(err_, HasSubstr("unsupported operator"));
  EXPECT_EQ(calls(), 0U);
}

TEST_F(Compile, ALogOfAnEarlierRunDoesNotStay) {
  set_compiler("echo 'model.mlir:1: error: no such thing' >&2; exit 3\n");
  EXPECT_EQ(run({"-o", path("parts/")}), ExitCode::kCheckFailed);
  EXPECT_THAT(text("parts.compile.log"), HasSubstr("no such thing"));

  set_compiler("printf '\\010\\000\\000\\000IREE io_parameters layer/w' > module.vmfb\n");
  EXPECT_EQ(run({"-o", path("parts/")}), ExitCode::kOk) << err_;

  EXPECT_FALSE(std::filesystem::exists(path("parts.compile.log")));
}

TEST_F(Compile, AnOperatorThatIreeLacksIsNamed) {
  set_compiler(
      "echo 'model.mlir:9:1: error: failed to legalize operation '\\''torch.operator'\\'' that was explicitly marked "
      "illegal: %3 = \"torch.operator\"(%2) <{name = \"onnx.If\"}> ({...})' >&2; exit 1\n");

  EXPECT_EQ(run({"--target", "x86-64-v3"}), ExitCode::kCheckFailed);

  EXPECT_THAT(err_, HasSubstr("FAILED  IREE does not compile the operator If of this model; fix the sizes"));
}

TEST_F(Compile, AnImporterThatRaisesIsQuotedByItsLastLine) {
  support::write_script(path("bin/iree-import-onnx"),
                        "cat >&2 <<'END'\nTraceback (most recent call last):\n  File \"x.py\", line 1, in main\n"
                        "    raise errors\nonnx.checker.ValidationError: no type\nEND\nexit 1\n");

  EXPECT_EQ(run({"--json"}), ExitCode::kCheckFailed);

  EXPECT_THAT(err_, HasSubstr("IREE does not read this model: onnx.checker.ValidationError: no type; fix the sizes"));
  EXPECT_THAT(text("out.fatctx.compile.log"), HasSubstr("raise errors"));
  EXPECT_THAT(nlohmann::json::parse(out_)["error"], HasSubstr("no type"));
}

TEST_F(Compile, ACompilerThatCrashesIsToldAsOne) {
  for (const char* body : {"echo 'Please report issues to us' >&2; exit 245\n", "kill -9 $$\n"}) {
    set_compiler(body);
    EXPECT_EQ(run({"--target", "x86-64-v3"}), ExitCode::kCheckFailed);
    EXPECT_THAT(err_, HasSubstr("IREE crashes with this model; fix the sizes"));
  }
}

TEST_F(Compile, AFailureThatIsNotTheModelsKeepsItsReason) {
  set_compiler("echo \"iree-compile: Unknown command line argument '--nonsense'\" >&2; exit 1\n");

  EXPECT_EQ(run({"--target", "x86-64-v3"}), ExitCode::kCheckFailed);

  EXPECT_THAT(err_, HasSubstr("Unknown command line argument '--nonsense'"));
  EXPECT_THAT(err_, Not(HasSubstr("ctx-gen")));
}

TEST_F(Compile, AProgramThatUsesNoWeightsIsRefused) {
  set_compiler("printf '\\010\\000\\000\\000IREE' > module.vmfb\n");

  EXPECT_EQ(run({"--target", "x86-64-v3"}), ExitCode::kCheckFailed);

  EXPECT_THAT(err_, HasSubstr("wrote a program of 8 bytes that uses 0 of 2 weights (0 bytes of 53 bytes)"));
  EXPECT_FALSE(std::filesystem::exists(path("out.fatctx")));

  set_compiler("printf '\\010\\000\\000\\000IREE io_parameters bias' > module.vmfb\n");
  EXPECT_EQ(run({"--target", "x86-64-v4"}), ExitCode::kCheckFailed) << "less than a tenth of the bytes";
  EXPECT_THAT(err_, HasSubstr("uses 1 of 2 weights (5 bytes of 53 bytes)"));

  set_compiler("printf '\\010\\000\\000\\000IREE layer/w' > module.vmfb\n");
  EXPECT_EQ(run({"--target", "aarch64"}), ExitCode::kCheckFailed) << "a name that nothing loads is there by chance";
}

TEST_F(Compile, EachSetOfShapesIsAUnitAndTheWeightsAreStoredOnce) {
  // The module depends on the model, so that a set is compiled by itself.
  support::write_script(path("bin/iree-import-onnx"),
                        "cksum < \"$1\" > model.mlir\ncp " + path("prepared.irpa") + " model_params.irpa\n");

  ASSERT_EQ(run({"--target", "x86-64-v3", "--shape", "x=1,3", "--shape", "x=8,3", "--json"}), ExitCode::kOk) << err_;

  const auto container = Container::open(path("out.fatctx")).value();
  const auto description = container.describe().value();
  const std::uint32_t weights = container.find("net.weights").value().id;
  std::size_t weight_blobs = 0;
  for (const RecordInfo& record : support::records_in(container))
    weight_blobs += record.key.type == RecordType::kWeightBlob ? 1 : 0;
  EXPECT_EQ(weight_blobs, 1U);
  for (const auto& [unit, batch] : {std::pair{"1x3", 1}, std::pair{"8x3", 8}}) {
    const auto record = container.find(std::string("net.") + unit + ".x86-64-v3");
    ASSERT_TRUE(is_ok(record)) << unit;
    EXPECT_EQ(record.value().key.unit, unit);
    EXPECT_EQ(record.value().key.group, "net");
    EXPECT_EQ(record.value().weights.front(), weights);
    for (const RecordDescription& described : description.records) {
      if (described.record_id != record.value().id) continue;
      EXPECT_EQ(described.graphs.at(0).inputs.at(0).shape, (std::vector<std::int64_t>{batch, 3}));
      EXPECT_EQ(described.graphs.at(0).outputs.at(0).shape, (std::vector<std::int64_t>{batch, 4}));
    }
  }
  EXPECT_EQ(nlohmann::json::parse(out_)["targets"][1]["unit"], "8x3");
  ASSERT_EQ(run({"--target", "x86-64-v3", "--shape", "x=1,3", "--shape", "x=8,3", "-o", path("parts/")}),
            ExitCode::kOk);
  ASSERT_EQ(run_and_keep({"pack", path("parts/manifest.json"), "-o", path("packed.fatctx")}), ExitCode::kOk) << err_;
  EXPECT_EQ(support::read_file(path("packed.fatctx")), support::read_file(path("out.fatctx")));
  EXPECT_EQ(calls(), 2U) << "of the compiler";
}

TEST_F(Compile, OneSetOfShapesChangesNoName) {
  ASSERT_EQ(run({"--target", "x86-64-v3", "--shape", "x=8,3"}), ExitCode::kOk) << err_;

  const auto record = Container::open(path("out.fatctx")).value().find("net.x86-64-v3");
  ASSERT_TRUE(is_ok(record));
  EXPECT_EQ(record.value().key.unit, "");
}

TEST_F(Compile, AShapeThatTheModelDoesNotHaveIsRefusedBeforeTheWork) {
  EXPECT_EQ(run({"--target", "x86-64-v3", "--shape", "x=1,4"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("--shape: x=1,4: size 2 is fixed in the model"));
  EXPECT_EQ(calls(), 0U);
}

TEST_F(Compile, AModelWithItsWeightsElsewhereIsImportedFromThere) {
  support::write_model(path("net.onnx"), support::external_model("weights.bin"));
  support::write_text(path("weights.bin"), std::string(69, 'w'));
  support::write_script(path("bin/iree-import-onnx"), "echo \"$*\" >> " + path("calls") +
                                                          "\necho module > model.mlir\ncp " + path("prepared.irpa") +
                                                          " model_params.irpa\n");

  ASSERT_EQ(run({"--target", "x86-64-v3", "--shape", "x=8,3"}), ExitCode::kOk) << err_;

  EXPECT_THAT(text("calls"), HasSubstr("--data-dir " + std::filesystem::path(path("net.onnx")).parent_path().string()));
}

TEST_F(Compile, CompilersOfTheActiveEnvironmentAreFound) {
  std::filesystem::create_directory(path("env"));
  std::filesystem::rename(path("bin"), path("env/bin"));
  const support::SetVariable active("VIRTUAL_ENV", path("env"));

  const ExitCode code = run_and_keep(
      {"compile", path("net.onnx"), "--target", "x86-64-v3", "--no-check", "--no-cache", "-o", path("out.fatctx")});

  EXPECT_EQ(code, ExitCode::kOk) << err_;
  EXPECT_EQ(calls(), 2U);
}

TEST_F(Compile, WeightsOfAnotherSizeThanTheModelsAreRefused) {
  support::IrpaWriter writer;
  writer.data("layer/w", 0, 47);
  support::write_file(path("prepared.irpa"), writer.write(64));

  EXPECT_EQ(run(), ExitCode::kUsage);

  EXPECT_THAT(err_, HasSubstr("\"layer/w\" has 47 bytes"));
  EXPECT_FALSE(std::filesystem::exists(path("out.fatctx")));
}

TEST_F(Compile, AModelWithoutWeightsOfNoteGivesBinariesOnly) {
  support::write_script(path("bin/iree-import-onnx"), "echo module > model.mlir\n");

  ASSERT_EQ(run(), ExitCode::kOk) << err_;

  const auto container = Container::open(path("out.fatctx"));
  ASSERT_TRUE(is_ok(container));
  EXPECT_FALSE(container.value().find("net.weights").ok());
  EXPECT_TRUE(is_ok(container.value().find("net.aarch64")));
}

TEST_F(Compile, AFolderGetsPartsThatPackTheSame) {
  ASSERT_EQ(run({"--name", "m"}), ExitCode::kOk) << err_;

  ASSERT_EQ(run({"--name", "m", "-o", path("parts/")}), ExitCode::kOk) << err_;

  ASSERT_EQ(run_and_keep({"pack", path("parts/manifest.json"), "-o", path("packed.fatctx")}), ExitCode::kOk);
  EXPECT_EQ(support::read_file(path("packed.fatctx")), support::read_file(path("out.fatctx")));
  EXPECT_EQ(run({"--name", "m", "-o", path("parts/")}), ExitCode::kUsage) << "nothing is overwritten";
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path("parts"))) {
      names.insert(entry.path().filename().string());
    }
    return names;
  };
  const std::set<std::string> before = files();
  EXPECT_EQ(run({"--name", "m", "-o", path("parts/"), "--force"}), ExitCode::kOk);
  EXPECT_EQ(files(), before) << "nothing else is left in the folder";
}

TEST_F(Compile, AMissingCompilerIsTheEnvironmentsFaultAndHasARemedy) {
  std::filesystem::remove(path("bin/iree-compile"));

  EXPECT_EQ(run(), ExitCode::kEnvironment);

  EXPECT_THAT(err_, HasSubstr("iree-compile is not in "));
  EXPECT_THAT(err_, HasSubstr("install the Python package iree-base-compiler"));
}

TEST_F(Compile, AnExistingFileIsNoticedBeforeTheWork) {
  support::write_text(path("out.fatctx"), "precious");

  EXPECT_EQ(run(), ExitCode::kUsage);

  EXPECT_EQ(calls(), 0U);
  EXPECT_EQ(support::read_file(path("out.fatctx")).size(), 8U);
}

TEST_F(Compile, FlagsOfOtherCompilersAreRefused) {
  const auto refused = [&](const std::vector<std::string>& flags, const std::string& why) {
    EXPECT_EQ(run(flags), ExitCode::kUsage) << why;
    EXPECT_THAT(err_, HasSubstr(why));
  };
  refused({"--common-arch", "v73"}, "--common-arch is about models for Snapdragon");
  refused({"--qnn-python", "python3"}, "--qnn-python is for Snapdragon's compiler");
  refused({"--format", "x"}, "--format belongs to --command");
  EXPECT_EQ(calls(), 0U);
}

TEST_F(Compile, TargetsMayBeWords) {
  ASSERT_EQ(run({"--target", "x86-64-v3", "--target", "aarch64+dotprod", "-j", "1"}), ExitCode::kOk) << err_;

  const auto container = Container::open(path("out.fatctx"));
  EXPECT_EQ(container.value().find("net.aarch64+dotprod").value().key.features, "dotprod");
}

TEST_F(Compile, NoPathOfThisMachineGetsIntoTheCommandLinesOfTheCompiler) {
  ASSERT_EQ(run(), ExitCode::kOk) << err_;

  const auto bytes = support::read_file(path("calls"));
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_THAT(text, HasSubstr("compile model.mlir "));
  EXPECT_THAT(text, HasSubstr("-o module.vmfb"));
  EXPECT_THAT(text, Not(HasSubstr(folder_.path())));
}

}  // namespace compile_test
}  // namespace fatctx::tools
