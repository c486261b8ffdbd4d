// `fatctx compile` for Snapdragon with a fake Python: a shell script that answers like the real program and copies
// prepared files. tests/qnn uses the real compiler. Shows S4.38, S4.41, S4.45 to S4.48.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "fatctx/container.h"
#include "support/dlc_file.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "tools/command_fixture.h"
#include "tools/pack/ep_context_files.h"

namespace fatctx::tools {
namespace compile_qnn_test {

using support::context_model;
using support::is_ok;
using support::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns a model with fixed shapes that is fully quantized, so that it causes no warning.
onnx::ModelProto quantised_model() {
  onnx::ModelProto model = support::fixed_model();
  model.mutable_graph()->add_node()->set_op_type("DequantizeLinear");
  return model;
}

// Returns the weights that all SoCs share, and a page of the SoC's own.
std::string binary_of(int soc) {
  std::string binary(std::size_t{33} * 4096, '\0');
  for (std::size_t i = 0; i < binary.size(); ++i) {
    const bool own = i >= std::size_t{32} * 4096;
    binary[i] = static_cast<char>((i * i * 31 + i / 4096 + (own ? static_cast<std::size_t>(soc) : 0)) % 251);
  }
  return binary;
}

class CompileQnn : public support::CommandTest {
 protected:
  CompileQnn() {
    support::write_model(path("net.onnx"), quantised_model());
    for (const int soc : {43, 57, 69}) provide(std::to_string(soc), std::to_string(soc), binary_of(soc));
    // Prints its version, or reads the SoCs from the request and copies the output prepared for them.
    support::write_script(path("python"),
                          "if [ \"$1\" = -c ]; then echo '{\"onnxruntime\": \"1.2\", \"onnxruntime_qnn\": \"3.4\"}'; "
                          "exit 0; fi\n"
                          "cat request.json >> " +
                              path("requests") +
                              "\n"
                              "socs=$(sed -n 's/.*\"soc_model\": \"\\(.*\\)\".*/\\1/p' request.json)\n"
                              "if [ ! -d " +
                              path("for_") +
                              "$socs ]; then echo \"error: cannot compile for $socs\"; exit 1; fi\n"
                              "cp " +
                              path("for_") + "$socs/* .\n");
  }
  // Prepares the compiler's output for `socs`, and its messages.
  void provide(const std::string& socs, const std::string& said, const std::string& binary) const {
    std::filesystem::create_directories(path("for_" + socs));
    support::write_model(path("for_" + socs + "/model_ctx.onnx"),
                         context_model("model_ctx_qnn.bin", "v2:6:2.51.0:5.51.0:0:" + said + ":0:0"));
    support::write_text(path("for_" + socs + "/model_ctx_qnn.bin"), binary);
  }
  ExitCode run(std::vector<std::string> more, const std::string& model = "net.onnx", const std::string& out = "") {
    std::vector<std::string> arguments = {"compile", "--qnn-python", path("python"), "--cache", path("cache")};
    if (!model.empty()) arguments.push_back(path(model));
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (out != "none") arguments.insert(arguments.end(), {"-o", path(out.empty() ? "out.fatctx" : out)});
    return run_and_keep(arguments);
  }
  [[nodiscard]] std::string requests() const { return text("requests"); }
  void provide_dlc(const std::string& socs) const {
    provide(socs, "57", "");
    support::write_file(path("for_" + socs + "/model_ctx_qnn.bin"), support::two_socs().write());
  }
  // Writes the vendor's main file and one for each SoC.
  void write_config(const std::string& first_more = "", const std::string& graphs = "tiny") const {
    support::write_text(path("main.json"),
                        R"({"backend_extensions": {"shared_library_path": "libExt.so",
                            "per_soc_config_file_path": ["a.json", "b.json"]}})");
    support::write_text(path("a.json"), R"({"graphs": [{"graph_names": [")" + graphs + R"("], "O": 3)" + first_more +
                                            R"(}], "devices": [{"soc_id": 57, "dsp_arch": "v75"}],
                            "context": {"reference_weight_sharing_enabled": true}})");
    support::write_text(path("b.json"), R"({"graphs": [{"graph_names": ["tiny"], "O": 3}],
                            "devices": [{"soc_id": 69, "dsp_arch": "v79"}],
                            "context": {"reference_weight_sharing_enabled": true}})");
  }
};

TEST_F(CompileQnn, PacksARecordForEachSocOfTheList) {
  ASSERT_EQ(run({"--htp_socs", "SM8650,69", "--common-arch", "v75"}), ExitCode::kOk) << err_;

  const auto container = Container::open(path("out.fatctx")).value();
  const auto record = container.find("net.SM8650").value();
  EXPECT_EQ(record.key.backend, "htp");
  EXPECT_EQ(record.key.qnn_soc, 57U);
  EXPECT_EQ(record.key.part, "SM8650");
  EXPECT_EQ(record.key.arch, "v75");
  EXPECT_EQ(record.key.group, "net");
  EXPECT_EQ(container.find("net.SM8750").value().key.qnn_soc, 69U);
  EXPECT_EQ(container.describe().value().records[0].producer, "onnxruntime-qnn 3.4");
  EXPECT_THAT(err_, Not(HasSubstr("warning")));
}

TEST_F(CompileQnn, FilesOfTheVendorAreReadAndTheirSettingsReachTheCompilerAndTheRecord) {
  write_config();

  ASSERT_EQ(run({"--config_file", path("main.json"), "--common-arch", "v75"}), ExitCode::kOk) << err_;

  EXPECT_THAT(requests(), HasSubstr("\"htp_graph_finalization_optimization_mode\": \"3\""));
  const auto description = Container::open(path("out.fatctx")).value().describe().value();
  ASSERT_FALSE(description.records[0].options.empty());
  EXPECT_EQ(description.records[0].options[0].key, "graphs.O");
  EXPECT_EQ(description.records[0].options[0].value, "3");
  EXPECT_THAT(err_, HasSubstr("libExt.so is for the vendor's generator"));
}

TEST_F(CompileQnn, SettingsWithoutACounterpartAreNamedAndNotClaimed) {
  write_config(R"(, "hvx_threads": 4)");

  ASSERT_EQ(run({"--config_file", path("main.json")}), ExitCode::kOk) << err_;

  EXPECT_THAT(err_, HasSubstr("warning: SM8650 (soc 57, v75): graphs.hvx_threads = 4: the QNN provider"));
  const auto description = Container::open(path("out.fatctx")).value().describe().value();
  for (const auto& option : description.records[0].options) EXPECT_NE(option.key, "graphs.hvx_threads");
}

TEST_F(CompileQnn, AGraphNameThatTheModelLacksIsAnErrorBeforeTheCompilerRuns) {
  write_config("", "prefill");

  EXPECT_EQ(run({"--config_file", path("main.json")}), ExitCode::kUsage);

  EXPECT_THAT(err_, AllOf(HasSubstr("no graph of the model is named \"prefill\""), HasSubstr("\"tiny\", \"net\"")));
  EXPECT_EQ(requests(), "");
}

TEST_F(CompileQnn, AFileAndAListExcludeEachOther) {
  write_config();

  EXPECT_EQ(run({"--config_file", path("main.json"), "--htp_socs", "57"}), ExitCode::kUsage);

  EXPECT_THAT(err_, HasSubstr("--config_file and --htp_socs exclude each other"));
}

TEST_F(CompileQnn, SharingIsWhatTheFilesSayUnlessItIsOverridden) {
  write_config();
  ASSERT_EQ(run({"--config_file", path("main.json"), "--json"}), ExitCode::kOk) << err_;
  EXPECT_GT(nlohmann::json::parse(out_)["pack"]["shared_bytes"], 100000);

  ASSERT_EQ(run({"--config_file", path("main.json"), "--reference_weight_sharing_enabled_override", "false", "--json",
                 "--force"}),
            ExitCode::kOk)
      << err_;
  EXPECT_THAT(err_, AllOf(HasSubstr("reference_weight_sharing_enabled is false for 2 targets"),
                          HasSubstr("each keeps weights of its own")));
  EXPECT_EQ(nlohmann::json::parse(out_)["pack"]["shared_bytes"], 0);
}

TEST_F(CompileQnn, OneSocThatFailsStopsNoOtherAndWritesNothing) {
  EXPECT_EQ(run({"--htp_socs", "57,36,69"}), ExitCode::kCheckFailed);

  EXPECT_THAT(err_, HasSubstr("FAILED  the QNN compiler failed with exit code 1: error: cannot compile for 36"));
  EXPECT_THAT(err_, HasSubstr("1 of 3 targets failed"));
  EXPECT_FALSE(std::filesystem::exists(path("out.fatctx")));
}

TEST_F(CompileQnn, WhatTheCompilerSaysItMadeIsCompared) {
  provide("36", "0", std::string(4096, 'b'));  // its behavior for an unknown name
  EXPECT_EQ(run({"--htp_socs", "36"}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("asked for SoC 36, and the compiler says that it compiled for SoC 0"));

  provide("30", "30", std::string(5000, 'b'));
  EXPECT_EQ(run({"--htp_socs", "30"}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("5000 bytes, which is not a multiple of 4096"));

  EXPECT_EQ(run({"--htp_socs", "57", "--vtcm_mb", "8"}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("asked for 8 MB of VTCM, and the compiler says that it compiled for 0 MB"));

  provide("43", "43", "");
  EXPECT_EQ(run({"--htp_socs", "43"}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("wrote an empty model_ctx_qnn.bin"));
}

TEST_F(CompileQnn, OneBinaryHasOneTargetInWhicheverWayItIsPacked) {
  ASSERT_EQ(run({"--htp_socs", "SM8550"}, "net.onnx", "compile.fatctx"), ExitCode::kOk) << err_;
  const auto pack = [this](const std::string& file, const std::string& option, const std::string& value) {
    return run_and_keep({"pack", "-o", path(file), "--name", "net", "--quant", "activation_type=uint8",
                         "--allow-dynamic", option, value});
  };
  const std::string binary = path("for_43/model_ctx_qnn.bin");
  ASSERT_EQ(pack("ep-context.fatctx", "--ep-context", path("for_43/model_ctx.onnx")), ExitCode::kOk) << err_;
  ASSERT_EQ(pack("binary.fatctx", "--binary", binary + "@htp:SM8550,vtcm_mb=4,sdk=2.51.0"), ExitCode::kOk) << err_;
  ASSERT_EQ(pack("number.fatctx", "--binary", binary + "@43,vtcm_mb=4,sdk=2.51.0"), ExitCode::kOk) << err_;
  // Returns part, number, arch, VTCM and SDK of the binary.
  const auto target_of = [this](const std::string& file) {
    const auto container = Container::open(path(file)).value();
    std::string text;
    for (const RecordInfo& record : support::records_in(container)) {
      if (record.type != RecordType::kContextBinary) continue;
      const auto& key = record.key;
      text += fmt::format("{}, soc {}, {}, {} MB, {}", key.part, key.qnn_soc, key.arch, key.vtcm_mb, to_text(key.sdk));
    }
    return text;
  };
  const auto tiers = [this](const std::string& file) {
    std::string all;
    for (const char* const device : {"SM8550", "QCS8550", "SM8650", "v73"}) {
      run_and_keep({"select", path(file), "--device", device, "--json"});
      const auto verdict = nlohmann::json::parse(out_)["candidates"][0];
      all += fmt::format("{}: {} {}; ", device, verdict["tier"].dump(), verdict["level"].dump());
    }
    return all;
  };

  // 4 MB are the vendor's default.
  EXPECT_EQ(target_of("compile.fatctx"), "SM8550, soc 43, v73, 4 MB, 2.51");
  for (const char* const file : {"ep-context.fatctx", "binary.fatctx", "number.fatctx"}) {
    EXPECT_EQ(target_of(file), target_of("compile.fatctx")) << file;
    EXPECT_EQ(tiers(file), tiers("compile.fatctx")) << file;
  }
  EXPECT_THAT(tiers("compile.fatctx"), HasSubstr("SM8550: 1 "));

  // Several chips have the number 52, so only the command line of the compiler says which part was meant.
  provide("52", "52", binary_of(52));
  ASSERT_EQ(run({"--htp_socs", "SA8255"}, "net.onnx", "part.fatctx"), ExitCode::kOk) << err_;
  ASSERT_EQ(pack("noted.fatctx", "--ep-context", path("for_52/model_ctx.onnx")), ExitCode::kOk) << err_;
  EXPECT_EQ(target_of("part.fatctx"), "SA8255, soc 52, v73, 4 MB, 2.51");
  EXPECT_EQ(target_of("noted.fatctx"), ", soc 52, v73, 4 MB, 2.51");

  // Nothing in the binary says how much it uses, and a target without a number means the whole chip.
  ASSERT_EQ(pack("whole.fatctx", "--binary", binary + "@htp:SM8550"), ExitCode::kOk) << err_;
  EXPECT_THAT(target_of("whole.fatctx"), HasSubstr("SM8550, soc 43, v73, 8 MB"));
}

// The compiler's output for a model with two operators that stay on the CPU.
class CompileInPart : public CompileQnn {
 protected:
  CompileInPart() {
    for (const char* const soc : {"57", "69"}) {
      onnx::ModelProto model = context_model("model_ctx_qnn.bin", fmt::format("v2:6:2.51.0:5.51.0:0:{}:0:0", soc));
      add(model, "Erf");
      add(model, "Shrink");
      support::write_model(path(fmt::format("for_{}/model_ctx.onnx", soc)), model);
    }
  }
  static void add(onnx::ModelProto& model, const char* operation) {
    onnx::NodeProto& node = *model.mutable_graph()->add_node();
    node.set_op_type(operation);
    node.add_input("between");
    node.add_output(operation);
  }
};

TEST_F(CompileInPart, TheFirstLineNamesTheOperatorsAndTheFlagThatAllowsThem) {
  EXPECT_EQ(run({"--htp_socs", "57,43", "--common-arch", "v73"}), ExitCode::kCheckFailed);

  EXPECT_THAT(err_, HasSubstr("SM8650 (soc 57, v75)  FAILED  the NPU does not take 2 nodes of the model: Erf, Shrink; "
                              "compile with --allow-cpu to leave them to the CPU"));
  EXPECT_THAT(err_, HasSubstr("1 of 2 targets failed"));
  EXPECT_FALSE(std::filesystem::exists(path("out.fatctx")));
}

TEST_F(CompileInPart, WithPermissionTheModelIsKeptOnceForAllSocsAndNothingIsCompiledAgain) {
  EXPECT_EQ(run({"--htp_socs", "57", "--common-arch", "v75"}), ExitCode::kCheckFailed);
  const std::string asked = requests();
  ASSERT_EQ(run({"--htp_socs", "57", "--common-arch", "v75", "--allow-cpu"}), ExitCode::kOk) << err_;
  EXPECT_EQ(requests(), asked);
  EXPECT_THAT(err_, HasSubstr("cached"));

  ASSERT_EQ(run({"--htp_socs", "57,69", "--common-arch", "v75", "--allow-cpu", "--force"}), ExitCode::kOk) << err_;
  const auto container = Container::open(path("out.fatctx")).value();
  EXPECT_EQ(support::records_in(container).size(), 4U);  // two binaries, the model, the description
  EXPECT_EQ(container.find("net.onnx").value().type, RecordType::kWrapperModel);
  ASSERT_EQ(run_and_keep({"wrap", path("out.fatctx"), "--device", "69", "-o", path("w_ctx.onnx")}), ExitCode::kOk)
      << err_;
  EXPECT_EQ(text("w_ctx_qnn.bin"), binary_of(69));
  EXPECT_THAT(out_, HasSubstr("model \"net.onnx\", 1 node of QNNExecutionProvider, with these between: Erf, Shrink"));
}

TEST_F(CompileInPart, AFolderGetsTheModelAsAFileAndGivesTheSameContainer) {
  ASSERT_EQ(run({"--htp_socs", "57", "--allow-cpu"}, "net.onnx", "parts/"), ExitCode::kOk) << err_;
  EXPECT_TRUE(std::filesystem::exists(path("parts/net.onnx")));
  ASSERT_EQ(run_and_keep({"pack", path("parts/manifest.json"), "-o", path("packed.fatctx"), "--allow-dynamic"}),
            ExitCode::kOk)
      << err_;
  ASSERT_EQ(run({"--htp_socs", "57", "--allow-cpu"}), ExitCode::kOk) << err_;

  EXPECT_EQ(text("packed.fatctx"), text("out.fatctx"));
}

TEST_F(CompileInPart, ADlcCannotHoldSuchAModel) {
  provide_dlc("57,69");
  std::filesystem::copy_file(path("for_57/model_ctx.onnx"), path("for_57,69/model_ctx.onnx"),
                             std::filesystem::copy_options::overwrite_existing);

  EXPECT_EQ(run({"--htp_socs", "57,69"}, "net.onnx", "out.dlc"), ExitCode::kCheckFailed);
  EXPECT_THAT(err_,
              HasSubstr("the pass for all targets failed: the NPU does not take 2 nodes of the model: Erf, Shrink; "
                        "a DLC holds the NPU's parts only"));
  EXPECT_EQ(run({"--htp_socs", "57,69", "--allow-cpu"}, "net.onnx", "out.dlc"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("--allow-cpu is for a container: a DLC holds the NPU's parts only"));
  EXPECT_FALSE(std::filesystem::exists(path("out.dlc")));
}

TEST_F(CompileQnn, PermissionForTheCpuIsForThisCompilerOnly) {
  EXPECT_EQ(
      run_and_keep({"compile", path("net.onnx"), "--target", "x86-64-v3", "--allow-cpu", "-o", path("out.fatctx")}),
      ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("--allow-cpu is for Snapdragon's compiler, which is not used here"));
}

TEST_F(CompileQnn, ACompilerThatWritesNothingIsExplained) {
  std::filesystem::remove(path("for_57/model_ctx.onnx"));

  EXPECT_EQ(run({"--htp_socs", "57"}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("wrote no model_ctx.onnx: it does not know the SoC, or the NPU takes no operator of the "
                              "model (DequantizeLinear, MatMul)"));
}

TEST_F(CompileQnn, ColoursOfTheCompilersLogAreNotShown) {
  support::write_script(
      path("python"),
      "if [ \"$1\" = compile.py ]; then printf '\\033[1;31mError: red\\033[m\\n'; exit 1; fi\n" + text("python"));

  EXPECT_EQ(run({"--htp_socs", "57"}), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, AllOf(HasSubstr("failed with exit code 1: Error: red\n"), Not(HasSubstr("1;31m"))));
}

TEST_F(CompileQnn, OnePassGivesADlcWhoseMetadataIsReadBack) {
  provide_dlc("57,69");
  ASSERT_EQ(run({"--htp_socs", "57,69"}, "net.onnx", "out.dlc"), ExitCode::kOk) << err_;
  EXPECT_EQ(support::read_file(path("out.dlc")), support::two_socs().write());
  EXPECT_EQ(run({"--htp_socs", "57,69"}, "net.onnx", "out.dlc"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("already exists"));

  provide_dlc("57,43");
  EXPECT_EQ(run({"--htp_socs", "57,43"}, "net.onnx", "other.dlc"), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("SM8550 (soc 43, v73)  FAILED  the compiler reported success and wrote no context "
                              "binary for SoC 43; there are 57, 69"));
  EXPECT_THAT(err_, HasSubstr("SM8650 (soc 57, v75)  FAILED  compiled, and of no use without 1 other target"));
  EXPECT_FALSE(std::filesystem::exists(path("other.dlc")));

  EXPECT_EQ(run({"--htp_socs", "57,69", "--vtcm_mb", "2"}, "net.onnx", "other.dlc"), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("asked for 2 MB of VTCM, and the context binary of SoC 57 was made for 8 MB"));
}

TEST_F(CompileQnn, APassThatFailsIsRepeatedForEachSocToTellWhich) {
  EXPECT_EQ(run({"--htp_socs", "57,36,69"}, "net.onnx", "out.dlc"), ExitCode::kCheckFailed);

  EXPECT_THAT(err_, AllOf(HasSubstr("the pass for all targets failed: "), HasSubstr("cannot compile for 57,36,69"),
                          HasSubstr("FAILED  the QNN compiler failed with exit code 1: error: cannot compile for 36"),
                          HasSubstr("1 of 3 targets failed")));
  EXPECT_FALSE(std::filesystem::exists(path("out.dlc")));

  EXPECT_EQ(run({"--htp_socs", "57,69", "--json"}, "net.onnx", "out.dlc"), ExitCode::kCheckFailed);
  EXPECT_THAT(err_, HasSubstr("each of 2 targets compiles by itself, and all in one pass do not"));
  const auto report = nlohmann::json::parse(out_);
  EXPECT_EQ(report["targets"].size(), 2U);
  EXPECT_THAT(report["error"].get<std::string>(), HasSubstr("cannot compile for 57,69"));
  EXPECT_FALSE(std::filesystem::exists(path("out.dlc")));
}

TEST_F(CompileQnn, SettingsThatTheProviderRefusesAreFoundBeforeItRuns) {
  write_config();
  support::write_text(path("b.json"), R"({"graphs": [{"graph_names": ["tiny"], "O": 7}],
                      "devices": [{"soc_id": 69, "dsp_arch": "v79"}]})");

  EXPECT_EQ(run({"--config_file", path("main.json")}), ExitCode::kUsage);

  EXPECT_THAT(err_, HasSubstr("b.json: graphs.O, which becomes the option htp_graph_finalization_optimization_mode of "
                              "the QNN provider: found \"7\"; allowed: \"0\", \"1\", \"2\", \"3\""));
  EXPECT_EQ(requests(), "");
}

TEST_F(CompileQnn, SettingsOfOneFileThatContradictEachOtherAreRefused) {
  write_config(R"(}, {"graph_names": ["net"], "O": 1)");
  EXPECT_EQ(run({"--config_file", path("main.json")}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("a.json: graphs.O = 3 and graphs.O = 1 contradict each other"));

  write_config(R"(}, {"graph_names": ["net"], "O": 3)");
  ASSERT_EQ(run({"--config_file", path("main.json")}), ExitCode::kOk) << err_;
  const auto description = Container::open(path("out.fatctx")).value().describe().value();
  const auto& options = description.records[0].options;
  EXPECT_EQ(std::count_if(options.begin(), options.end(), [](const auto& row) { return row.key == "graphs.O"; }), 1);
}

TEST_F(CompileQnn, ALibraryOfTheBackendThatChangesIsCompiledWithAnew) {
  const auto compiled = [&] {
    const std::size_t before = requests().size();
    EXPECT_EQ(run({"--htp_socs", "57", "--backend", path("libQnnHtp.so"), "--force"}), ExitCode::kOk) << err_;
    return requests().size() > before;
  };
  support::write_text(path("libQnnHtp.so"), "one");
  EXPECT_TRUE(compiled());
  EXPECT_FALSE(compiled());
  support::write_text(path("libQnnHtp.so"), "two");
  EXPECT_TRUE(compiled());

  support::write_text(path("\xff.libQnnHtp.so"), "three");
  EXPECT_EQ(run({"--htp_socs", "57", "--backend", path("\xff.libQnnHtp.so"), "--force"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("is not UTF-8"));
}

TEST_F(CompileQnn, TheCacheKeepsWhatWasCompiledAndNotTheModel) {
  ASSERT_EQ(run({"--htp_socs", "57,69"}), ExitCode::kOk) << err_;

  for (const auto& entry : std::filesystem::recursive_directory_iterator(path("cache"))) {
    EXPECT_NE(entry.path().filename(), "model.onnx") << entry.path();
    EXPECT_NE(entry.path().filename(), "request.json") << entry.path();
  }
}

TEST_F(CompileQnn, NumbersBehindAFlagDoNotTakeTheModel) {
  EXPECT_EQ(run_and_keep({"compile", "--qnn-python", path("python"), "--cache", path("cache"), "--htp_socs", "57",
                          "--vtcm_mb", "0", path("net.onnx"), "-o", path("out.fatctx")}),
            ExitCode::kOk)
      << err_;
}

TEST_F(CompileQnn, CpusAndSnapdragonsGoIntoOneContainer) {
  support::write_fake_iree(path(""));

  ASSERT_EQ(run({"--htp_socs", "SM8650", "--target", "aarch64", "--iree-bin", path("bin"), "--no-check", "--json"}),
            ExitCode::kOk)
      << err_;

  const auto container = Container::open(path("out.fatctx")).value();
  EXPECT_EQ(container.find("net.SM8650").value().key.backend, "htp");
  EXPECT_EQ(container.find("net.aarch64").value().key.backend, "cpu");
  EXPECT_EQ(container.find("net.aarch64").value().key.group, container.find("net.SM8650").value().key.group);
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["compiler"], "iree-compile 9.8.7, onnxruntime-qnn 3.4");
  EXPECT_EQ(json["targets"][0]["target"], "aarch64");
  EXPECT_THAT(json["targets"][1]["target"], HasSubstr("SM8650"));
}

TEST_F(CompileQnn, AWordOfTheOtherKindNamesItsFlag) {
  EXPECT_EQ(run_and_keep({"compile", path("net.onnx"), "--target", "SM8650", "-o", path("out.fatctx")}),
            ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("--target SM8650: is a target of Snapdragon's compiler"));
  EXPECT_THAT(err_, HasSubstr("write --htp_socs SM8650"));

  EXPECT_EQ(run({"--htp_socs", "SM8650, x86-64-v3"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("--htp_socs x86-64-v3: is a CPU"));
  EXPECT_THAT(err_, HasSubstr("write --target x86-64-v3"));
}

TEST_F(CompileQnn, EachSetOfShapesIsAUnitOfEachSoc) {
  auto model = quantised_model();
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("batch");
  support::write_model(path("net.onnx"), model);

  ASSERT_EQ(run({"--htp_socs", "SM8650,SM8750", "--shape", "x=1,3", "--shape", "x=2,3"}), ExitCode::kOk) << err_;

  const auto container = Container::open(path("out.fatctx")).value();
  for (const char* soc : {"SM8650", "SM8750"}) {
    for (const char* unit : {"1x3", "2x3"}) {
      const auto record = container.find(std::string("net.") + unit + "." + soc);
      ASSERT_TRUE(is_ok(record)) << unit << soc;
      EXPECT_EQ(record.value().key.unit, unit);
      EXPECT_EQ(record.value().key.group, "net");
    }
  }
  EXPECT_THAT(err_, Not(HasSubstr("are not fixed"))) << "the compiler gets models with fixed sizes";
  const std::string said = "nothing says for which arch the model was quantised";
  EXPECT_THAT(err_, HasSubstr(said));
  EXPECT_EQ(err_.find(said), err_.rfind(said)) << "once for all sets";
}

TEST_F(CompileQnn, APythonThatSaysNoVersionsIsNotBelieved) {
  support::write_script(path("python"), "echo '{\"onnxruntime\": 1, \"onnxruntime_qnn\": 2}'\n");
  EXPECT_EQ(run({"--htp_socs", "57"}), ExitCode::kEnvironment);
  EXPECT_THAT(err_, HasSubstr("does not tell the version"));
}

TEST_F(CompileQnn, FlagsThatMeanNothingForADlcAreRefused) {
  const auto refused = [&](std::vector<std::string> flags, const std::string& why) {
    flags.insert(flags.end(), {"--htp_socs", "57,69"});
    EXPECT_EQ(run(flags, "net.onnx", "out.dlc"), ExitCode::kUsage) << why;
    EXPECT_THAT(err_, HasSubstr(why));
  };
  refused({"--seal"}, "--seal is for a container");
  refused({"--keep-source"}, "--keep-source is for a container");
  refused({"--sharing", "off"}, "--sharing is for a container: in a DLC the compiler decides");
  refused({"--name", "x"}, "--name is for a container");
  refused({"--target", "aarch64"}, "--target is for a container: a DLC holds binaries for Snapdragon alone");
  refused({"--check"}, "--check compares what IREE's compiler made");
  refused({"--shape", "x=1,3", "--shape", "x=2,3"}, "a DLC takes one set of shapes");
  refused({"--reference_weight_sharing_enabled_override", "false"}, "in one pass the compiler shares the weights");
  EXPECT_EQ(requests(), "");

  provide_dlc("57,69");
  write_config();
  support::write_text(path("b.json"), R"({"graphs": [{"graph_names": ["tiny"], "O": 3}],
                      "devices": [{"soc_id": 69, "dsp_arch": "v79"}]})");
  EXPECT_EQ(run({"--config_file", path("main.json")}, "net.onnx", "out.dlc"), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, HasSubstr("SM8750 (soc 69, v79): reference_weight_sharing_enabled is not set, and in one pass"));
}

TEST_F(CompileQnn, WhatIsSaidBeforeTheCompilerRunsIsNotSaidAgain) {
  ASSERT_EQ(run({"--htp_socs", "43,69", "--common-arch", "v75"}), ExitCode::kOk) << err_;

  EXPECT_THAT(err_, HasSubstr("quantised for v75, which is above v73 of SM8550"));
  EXPECT_THAT(err_, Not(HasSubstr("as the common architecture")));
}

TEST_F(CompileQnn, ThePastedLineOfTheVendorSaysWhatItComesTo) {
  write_config();
  provide_dlc("57,69");
  support::write_text(path("libQnnHtp.so"), "a library");
  const std::vector<std::string> line = {
      "--backend",     path("libQnnHtp.so"), "--model",      "lib/libQnnModelDlc.so", "--output_dlc",
      path("out.dlc"), "--output_dir",       path("output"), "--log_level",           "info",
      "--config_file", path("main.json")};

  ASSERT_EQ(run(line, "net.onnx", "none"), ExitCode::kOk) << err_;

  EXPECT_THAT(err_, AllOf(HasSubstr("the QNN provider's backend_path"), HasSubstr("not needed here"),
                          HasSubstr("--output_dir"), HasSubstr("stays empty")));
  EXPECT_THAT(requests(), AllOf(HasSubstr("\"log_severity\": 1"), HasSubstr("libQnnHtp.so\"")));
  EXPECT_TRUE(std::filesystem::exists(path("out.dlc")));
}

TEST_F(CompileQnn, APastedLineThatCannotBeDoneSaysWhy) {
  const auto refused = [&](const std::vector<std::string>& line, ExitCode code, const std::string& why,
                           const std::string& model = "net.onnx") {
    EXPECT_EQ(run(line, model), code);
    EXPECT_THAT(err_, HasSubstr(why));
  };
  refused({"--htp_socs", "57", "--dlc_path", "m.dlc"}, ExitCode::kEnvironment,
          "can be compiled by the vendor's generator alone; give the ONNX model", "");
  refused({"--htp_socs", "57", "--backend", "libQnnCpu.so"}, ExitCode::kUsage, "only libQnnHtp.so");
  refused({"--htp_socs", "57", "--backend", path("libQnnHtp.so")}, ExitCode::kUsage, "there is no such file");
  refused({"--htp_socs", "57", "--model", "libmodel.so"}, ExitCode::kUsage, "the vendor's generator alone");
  refused({"--htp_socs", "57", "--model", "other.onnx"}, ExitCode::kUsage, "two models");
  refused({"--htp_socs", "57", "--log_level", "wran"}, ExitCode::kUsage, "did you mean warn?");
  refused({"--htp_socs", "57", "--output_dlc", "x.dlc"}, ExitCode::kUsage, "two outputs");
  refused({"--backend", "libQnnHtp.so"}, ExitCode::kUsage, "there is no such file");
  EXPECT_EQ(requests(), "");
}

TEST_F(CompileQnn, WarnsOfModelsThatTheHtpDoesNotTakeWell) {
  support::write_model(path("float.onnx"), support::tiny_model());
  ASSERT_EQ(run({"--htp_socs", "57"}, "float.onnx"), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, AllOf(HasSubstr("the model is not quantised"), HasSubstr("sizes of x, y are not fixed"),
                          HasSubstr("fix them: --shape x=A,3")));

  ASSERT_EQ(run({"--htp_socs", "43,69", "--force"}), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, HasSubstr("the targets reach from v73 to v79"));
  ASSERT_EQ(run({"--htp_socs", "43,69", "--force", "--common-arch", "v75"}), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, HasSubstr("quantised for v75, which is above v73 of SM8550"));
  ASSERT_EQ(run({"--htp_socs", "43,69", "--force", "--common-arch", "v73"}), ExitCode::kOk) << err_;
  EXPECT_THAT(err_, Not(HasSubstr("warning")));
}

TEST_F(CompileQnn, WithoutTheVendorsPackageItSaysWhatToInstall) {
  support::write_script(path("python"), "echo 'No module named onnxruntime_qnn' >&2; exit 1\n");

  EXPECT_EQ(run({"--htp_socs", "57"}), ExitCode::kEnvironment);

  EXPECT_THAT(err_, AllOf(HasSubstr("install the Python packages onnxruntime and onnxruntime-qnn"),
                          HasSubstr("licence"), HasSubstr("--qnn-python")));
}

}  // namespace compile_qnn_test
}  // namespace fatctx::tools
