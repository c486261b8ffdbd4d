// `fatctx pack` from files to a container that opens again, and the examples of docs/manifest.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

#include "fatctx/container.h"
#include "support/result_matchers.h"
#include "tools/command.h"
#include "tools/json_cursor.h"
#include "tools/sample_files.h"
#include "tools/targets_file.h"

namespace fatctx::tools {
namespace {

using support::is_ok;
using support::TempDir;
using ::testing::HasSubstr;

class Pack : public ::testing::Test {
 protected:
  Pack() {
    support::write_model(path("model.onnx"), support::tiny_model());
    support::write_file(path("weights.irpa"), support::tiny_archive());
    for (const char* name : {"v3.vmfb", "v4.vmfb", "arm.vmfb"}) {
      support::write_text(path(name), support::module_bytes(name));
    }
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }

  ExitCode run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "pack");
    arguments.insert(arguments.end(), {"-o", path("out.fatctx")});
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const ExitCode code = run_command(arguments);
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return code;
  }

  // The code blocks of a page that start with this word behind the fence.
  static std::vector<std::string> code_blocks(const std::string& page, const std::string& language) {
    const std::string text = read_text_file(page).value();
    const std::string fence = "```" + language + "\n";
    std::vector<std::string> blocks;
    for (std::size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at)) {
      at += fence.size();
      blocks.push_back(text.substr(at, text.find("```", at) - at));
    }
    return blocks;
  }

  TempDir folder_;
  std::string out_;
  std::string err_;
};

TEST_F(Pack, FlagsAndTensorsFromTheModelGiveAContainer) {
  ASSERT_EQ(run({"--name", "net", "--weights", path("weights.irpa"), "--binary", path("v3.vmfb") + "@cpu:x86-64-v3",
                 "--binary", path("arm.vmfb") + "@cpu:aarch64+i8mm,unit=main", "--tensors-from", path("model.onnx"),
                 "--json"}),
            ExitCode::kOk)
      << err_;

  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["schema"], "fatctx.pack/1");
  EXPECT_EQ(json["records"].size(), 3U);
  EXPECT_EQ(json["records"][0]["tensor_count"], 2);
  const auto container = Container::open(path("out.fatctx"));
  ASSERT_TRUE(is_ok(container));
  EXPECT_EQ(container.value().find("net.main.aarch64+i8mm").value().key.unit, "main");
  const auto tensors = container.value().tensors(container.value().find("net.weights").value().id);
  ASSERT_TRUE(is_ok(tensors));
  EXPECT_EQ(tensors.value().view("bias").value().dtype(), DType::kI8);
}

TEST_F(Pack, EveryExampleOfTheManifestPageWorks) {
  std::size_t manifests = 0;
  std::size_t targets = 0;
  for (const std::string& block : code_blocks(FATCTX_SOURCE_DIR "/docs/manifest.md", "jsonc")) {
    if (block.find("fatctx.manifest/1") == std::string::npos) {
      EXPECT_TRUE(is_ok(parse_targets(block, "docs/manifest.md"))) << block;
      ++targets;
      continue;
    }
    support::write_text(path("manifest.json"), block);
    EXPECT_EQ(run({path("manifest.json"), "--force"}), ExitCode::kOk) << err_ << block;
    ++manifests;
  }
  EXPECT_GE(manifests, 2U);
  EXPECT_GE(targets, 1U);
}

TEST_F(Pack, SealedFilesAreAsked) {
  ASSERT_EQ(run({"--name", "net", "--weights", path("weights.irpa"), "--seal"}), ExitCode::kOk) << err_;

  EXPECT_TRUE(Container::open(path("out.fatctx")).value().report().sealed);
  EXPECT_EQ(run({"--name", "net", "--weights", path("weights.irpa")}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("--force"));
}

TEST_F(Pack, ErrorsOfTheLibraryNameTheRecordOfTheManifest) {
  support::write_text(path("manifest.json"), R"({"schema": "fatctx.manifest/1", "name": "n", "records": [
      {"type": "context_binary", "name": "a", "file": "v3.vmfb", "target": {"backend": "cpu", "arch": "x86-64-v3"}},
      {"type": "context_binary", "name": "b", "file": "v4.vmfb", "target": {"backend": "cpu", "arch": "x86-64-v3"}}]})");

  EXPECT_EQ(run({path("manifest.json")}), ExitCode::kUsage);

  EXPECT_THAT(err_, HasSubstr("manifest.json: /records/1: record \"b\" has the same selection key as \"a\""));
  EXPECT_FALSE(std::filesystem::exists(path("out.fatctx")));
}

TEST_F(Pack, SharingThatIsNotThereYetSaysSo) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--sharing", "pages"},
                                             {"--sharing", "bytes"},
                                             {"--reference-weight-sharing", "on"},
                                             {"--reference_weight_sharing", "require"},
                                             {"--reference_weight_sharing_enabled_override", "on"}}) {
    std::vector<std::string> arguments = {"--name", "net", "--weights", path("weights.irpa")};
    arguments.insert(arguments.end(), words.begin(), words.end());
    EXPECT_EQ(run(arguments), ExitCode::kUsage) << words[0];
    EXPECT_THAT(err_, HasSubstr("not yet")) << words[0];
    EXPECT_THAT(err_, HasSubstr("(unsupported)")) << words[0];
  }
  EXPECT_EQ(run({"--name", "net", "--weights", path("weights.irpa"), "--reference-weight-sharing", "off"}),
            ExitCode::kOk);
  EXPECT_EQ(run({"--name", "net", "--weights", path("weights.irpa"), "--reference-weight-sharing", "off", "--sharing",
                 "pages", "--force"}),
            ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("contradict"));
}

TEST_F(Pack, ManifestAndFlagsDoNotMix) {
  support::write_text(path("manifest.json"), "{}");
  EXPECT_EQ(run({path("manifest.json"), "--name", "net"}), ExitCode::kUsage);
  EXPECT_EQ(run({"--name", "net"}), ExitCode::kUsage);
  EXPECT_EQ(run({"--weights", path("weights.irpa")}), ExitCode::kUsage);
  EXPECT_EQ(run({path("none.json")}), ExitCode::kUsage);
}

TEST_F(Pack, PatternsAndUnknownTensorsAreRemarked) {
  support::IrpaWriter writer;
  writer.data("layer/w", 0, 48);
  writer.data("elsewhere", 48, 3);
  writer.splat("zeros", 16, 4);
  support::write_file(path("weights.irpa"), writer.write(64));

  ASSERT_EQ(run({"--name", "net", "--weights", path("weights.irpa"), "--tensors-from", path("model.onnx")}),
            ExitCode::kOk)
      << err_;

  EXPECT_THAT(err_, HasSubstr("net.weights: 1 of 3 entries are patterns"));
  EXPECT_THAT(err_, HasSubstr("net.weights: 1 of 2 tensors are not among the initializers"));
}

}  // namespace
}  // namespace fatctx::tools
