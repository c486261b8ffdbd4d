// The whole of `fatctx compile` with fake compilers: shell scripts that copy prepared files, count their calls and fail
// on request. Shows S4.38: one log line for each target, and results that are read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

#include "fatctx/container.h"
#include "support/result_matchers.h"
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
    set_compiler("printf '\\010\\000\\000\\000IREE%s' \"$*\" > module.vmfb\n");
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
  const std::vector<std::string> arguments = {"compile",    path("net.onnx"),  "--iree-bin",         path("bin"),
                                              "--no-cache", "--targets",       path("targets.json"), "--force",
                                              "-o",         path("out.fatctx")};
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
      "printf '\\010\\000\\000\\000IREE' > module.vmfb\n");

  EXPECT_EQ(run({"--json"}), ExitCode::kCheckFailed);

  EXPECT_FALSE(std::filesystem::exists(path("out.fatctx")));
  EXPECT_EQ(calls(), 4U);
  EXPECT_THAT(err_, HasSubstr("1 of 3 targets failed"));
  EXPECT_THAT(err_, HasSubstr("error: no such thing"));
  const auto json = nlohmann::json::parse(out_);
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
