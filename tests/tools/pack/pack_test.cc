// `fatctx pack` from files to a container that opens again, and the examples of docs/manifest.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <regex>

#include "fatctx/container.h"
#include "fatctx/select.h"
#include "source_dir.h"
#include "support/chip_corpus.h"
#include "support/gguf_file.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/safetensors_file.h"
#include "tools/command_fixture.h"
#include "tools/compile/targets_file.h"
#include "tools/facts/json_file.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace pack_test {

using support::is_ok;
using support::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;

class Pack : public support::CommandTest {
 protected:
  Pack() {
    support::write_model(path("model.onnx"), support::tiny_model());
    support::write_file(path("weights.irpa"), support::tiny_archive());
    for (const char* name : {"v3.vmfb", "v4.vmfb", "arm.vmfb"}) {
      support::write_text(path(name), support::module_bytes(name));
    }
    support::write_file(path("encoder.safetensors"),
                        support::safetensors_file(R"({"w":{"dtype":"F16","shape":[8],"data_offsets":[0,16]}})", 16));
    support::GgufWriter gguf;
    gguf.tensor("q", {256}, support::GgufWriter::kQ4K, 0, 144);
    support::write_file(path("decoder.gguf"), gguf.write());
    support::write_model(path("head.onnx"), support::external_model("head.onnx.data"));
    support::write_text(path("south.json"), R"([{"name": "land", "offset": 8, "size": 5}])");
    support::write_text(path("head.onnx.data"), std::string(64, 'w') + std::string(5, 'b'));
  }

  ExitCode run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "pack");
    arguments.insert(arguments.end(), {"-o", path("out.fatctx")});
    return run_and_keep(arguments);
  }

  // Returns the code blocks of a page in this language.
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

// Shows S5.5.
TEST_F(Pack, FilesOfWeightsGetTheirTensorsByWhatTheyAre) {
  std::filesystem::copy(path("decoder.gguf"), path("by-its-magic.bin"));
  ASSERT_EQ(run({"--name", "net", "--weights", path("encoder.safetensors"), "--weights", path("by-its-magic.bin"),
                 "--weights", path("head.onnx") + ",name=head"}),
            ExitCode::kOk)
      << err_;

  const auto container = Container::open(path("out.fatctx"));
  ASSERT_TRUE(is_ok(container));
  const auto tensor = [&](const char* record, const char* name) {
    return container.value().tensors(container.value().find(record).value().id).value().view(name).value();
  };
  EXPECT_EQ(tensor("net.weights", "w").dtype(), DType::kF16);
  EXPECT_EQ(tensor("net.weights2", "q").dtype(), DType::kU8);
  EXPECT_EQ(tensor("head", "bias").offset_in_blob(), 64U);
  EXPECT_EQ(tensor("head", "bias").dtype(), DType::kI8);
  EXPECT_THAT(err_, HasSubstr("net.weights2: 1 of 1 tensors"));
  std::map<std::string, std::string> formats;
  const ContainerDescription description = container.value().describe().value();
  for (const RecordDescription& record : description.records) {
    formats[std::string(container.value().record(record.record_id).value().name)] = record.format;
  }
  EXPECT_EQ(formats["net.weights"], "safetensors");
  EXPECT_EQ(formats["net.weights2"], "gguf");
  EXPECT_EQ(formats["head"], "onnx-external-data");
}

TEST_F(Pack, AModelWithoutLargeInitializersIsNoWeights) {
  EXPECT_EQ(run({"--name", "net", "--weights", path("model.onnx")}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("no initializer or Constant node has 1024 bytes or more inside of the model"));
  EXPECT_EQ(run({"--name", "net", "--weights", path("m.irpa,embedded=1")}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("embedded is for ONNX models"));
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
  EXPECT_GE(manifests, 3U);
  EXPECT_GE(targets, 1U);
}

TEST_F(Pack, SealedFilesAreAsked) {
  ASSERT_EQ(run({"--name", "net", "--weights", path("weights.irpa"), "--seal"}), ExitCode::kOk) << err_;

  EXPECT_TRUE(support::report_of(Container::open(path("out.fatctx")).value()).sealed);
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

TEST_F(Pack, RangesOfAFileOrOfTheManifestAreBoundariesOfWhatIsShared) {
  std::mt19937_64 random(3);
  support::Bytes parts[2] = {support::random_bytes(random, 90'004), support::random_bytes(random, 120'000)};
  support::Bytes first = parts[0];
  first.insert(first.end(), parts[1].begin(), parts[1].end());
  support::Bytes second = parts[1];
  second.insert(second.end(), parts[0].begin(), parts[0].end());
  support::write_file(path("first.bin"), first);
  support::write_file(path("second.bin"), second);
  support::write_text(
      path("parts.json"),
      R"([{"name": "p", "offset": 0, "size": 120000}, /* and */ {"name": "q", "offset": 120000, "size": 90004}])");
  const auto manifest = [&](const std::string& size) {
    support::write_text(path("manifest.json"), R"({"schema": "fatctx.manifest/1", "name": "n", "records": [
        {"type": "opaque", "name": "a", "file": "first.bin",
         "ranges": [{"name": "q", "offset": 0, "size": )" +
                                                   size + R"(}, {"name": "p", "offset": 90004, "size": 120000}]},
        {"type": "opaque", "name": "b", "file": "second.bin", "ranges": "parts.json"}]})");
    return run({path("manifest.json"), "--json", "--force", "--threads", "3"});
  };

  ASSERT_EQ(manifest("90004"), ExitCode::kOk) << err_;
  EXPECT_LT(nlohmann::json::parse(out_)["stored_bytes"], 210'004 * 103 / 100);

  EXPECT_EQ(manifest("90005"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("manifest.json: /records/0: record \"a\": range \"p\" begins at 90004, inside \"q\""));
  support::write_text(path("parts.json"), R"([{"name": "p", "offset": 210000, "size": 5}])");
  EXPECT_EQ(manifest("90004"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("record \"b\": range \"p\" has 5 bytes at 210000, which are not inside "));
  support::write_text(path("parts.json"),
                      R"([{"name": "p", "offset": 5, "size": 5}, {"name": "q", "offset": 0, "size": 5}])");
  EXPECT_EQ(manifest("90004"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("range \"q\" begins at 0, in front of \"p\""));
  support::write_text(path("parts.json"), R"([{"name": "p", "offset": -5, "size": 5}])");
  EXPECT_EQ(manifest("90004"), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("parts.json: /0/offset: found -5"));
}

TEST_F(Pack, SharingByBytesSaysHowEachRecordIsStored) {
  EXPECT_EQ(run({"--name", "net", "--weights", path("weights.irpa"), "--sharing", "bytes"}), ExitCode::kOk);
  EXPECT_THAT(out_, HasSubstr("stored as"));
  EXPECT_THAT(out_, HasSubstr("itself"));
}

TEST_F(Pack, SharingHasTwoVocabulariesThatMustNotContradict) {
  support::write_file(path("even.bin"), support::Bytes(300'000, std::byte{7}));  // one repeated page
  const std::vector<std::string> given = {"--name", "net", "--weights", path("even.bin"), "--force"};
  const auto run_with = [&](const std::vector<std::string>& words) {
    std::vector<std::string> arguments = given;
    arguments.insert(arguments.end(), words.begin(), words.end());
    return run(arguments);
  };
  const std::vector<std::vector<std::string>> by_pages = {{"--sharing", "pages"},
                                                          {"--reference-weight-sharing", "on"},
                                                          {"--reference_weight_sharing_enabled_override", "on"},
                                                          {"--reference_weight_sharing", "require"}};
  for (const auto& words : by_pages) {
    EXPECT_EQ(run_with(words), ExitCode::kOk) << words[0] << err_;
    EXPECT_THAT(out_, HasSubstr("pieces")) << words[0];
  }
  EXPECT_EQ(run_with({"--reference-weight-sharing", "off"}), ExitCode::kOk);
  EXPECT_THAT(out_, Not(HasSubstr("pieces")));
  EXPECT_EQ(run_with({"--reference-weight-sharing", "off", "--sharing", "pages"}), ExitCode::kUsage);
  EXPECT_THAT(err_, HasSubstr("contradict"));
}

// Three chips: the second has other code before the same weights, the third has the weights shifted by 256 bytes.
class PackChips : public Pack {
 protected:
  PackChips() {
    std::mt19937_64 random(1);
    const support::Bytes weights = support::random_bytes(random, 1'000'000);
    for (const char* chip : {"a.bin", "b.bin", "c.bin"}) {
      support::Bytes bytes = support::random_bytes(random, chip[0] == 'c' ? 8192 + 256 : 8192);
      bytes.insert(bytes.end(), weights.begin(), weights.end());
      support::write_file(path(chip), bytes);
    }
  }

  ExitCode run_chips(std::vector<std::string> words, const std::string& chips = "abc") {
    words.insert(words.begin(), {"--name", "net", "--quant", "weight_type=uint8"});
    const std::map<char, std::string> archs = {{'a', "v73"}, {'b', "v75"}, {'c', "v79"}};
    for (const char chip : chips) {
      words.insert(words.end(), {"--binary", path(std::string(1, chip) + ".bin") + "@htp:" + archs.at(chip)});
    }
    return run(words);
  }
};

TEST_F(PackChips, TheSummarySaysWhatWasSharedAndInHowManyPieces) {
  ASSERT_EQ(run_chips({"--sharing", "pages", "--json"}), ExitCode::kOk) << err_;

  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["input_bytes"].get<std::uint64_t>(),
            json["stored_bytes"].get<std::uint64_t>() + json["shared_bytes"].get<std::uint64_t>());
  EXPECT_GT(json["shared_bytes"], 950'000);
  EXPECT_LT(json["shared_bytes"], 1'000'001);
  std::uint64_t in_pieces = 0;
  for (const auto& record : json["records"]) in_pieces += record["pieces"].get<std::uint64_t>();
  EXPECT_EQ(in_pieces, 4U) << "two chips whole, one of its code and the rest of another";
}

TEST_F(PackChips, RequiredSharingThatIsMissedEndsWithOneAndSaysWhy) {
  EXPECT_EQ(run_chips({"--reference-weight-sharing", "require"}, "ab"), ExitCode::kOk) << err_;
  EXPECT_EQ(err_, "");

  EXPECT_EQ(run_chips({"--reference-weight-sharing", "require", "--force"}), ExitCode::kCheckFailed);

  // The chip with shifted weights, or the first of the other two if that one was examined before them.
  EXPECT_THAT(err_, HasSubstr("not shared: record \"net.v7"));
  EXPECT_THAT(err_, HasSubstr("shifted within a page"));
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << "one of the two with the same places shares";
  EXPECT_TRUE(std::filesystem::exists(path("out.fatctx")));
}

TEST_F(PackChips, EachReasonWhySharingIsMissedIsTold) {
  const auto corpus = support::make_chip_corpus(3);
  std::mt19937_64 random(2);
  const std::map<std::string, support::Bytes> others = {{"shifted", corpus.chips[2]},
                                                        {"re-tiled", corpus.chips[3]},
                                                        {"different", support::random_bytes(random, 3'000'000)}};
  for (const auto& [reason, bytes] : others) {
    support::write_file(path("a.bin"), corpus.chips[0]);
    support::write_file(path("b.bin"), bytes);
    EXPECT_EQ(run_chips({"--reference-weight-sharing", "require", "--force"}, "ab"), ExitCode::kCheckFailed);
    // "about N bytes are ... shifted within a page, N are there in another order (re-tiled), and N are different"
    std::map<std::string, double> share;
    const std::string number = R"(([0-9.]+) (bytes|KiB|MiB)( \([0-9,]+ bytes\))?)";
    std::smatch found;
    ASSERT_TRUE(std::regex_search(err_, found,
                                  std::regex("about " + number + " are in another.* page, " + number +
                                             " are there.*, and " + number + " are different")))
        << err_;
    const auto bytes_at = [&](std::size_t group) {
      const std::string unit = found[group + 1];
      return std::stod(found[group]) * (unit == "MiB" ? 1 << 20 : unit == "KiB" ? 1 << 10 : 1);
    };
    share = {{"shifted", bytes_at(1)}, {"re-tiled", bytes_at(4)}, {"different", bytes_at(7)}};
    const auto most =
        std::max_element(share.begin(), share.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    EXPECT_EQ(most->first, reason) << err_;
  }
}

TEST_F(PackChips, FlagsWinOverTheManifest) {
  support::write_text(path("manifest.json"), R"({"schema": "fatctx.manifest/1", "name": "n",
      "sharing": "pages", "max_pieces": 1, "granule": 16, "records": [
      {"type": "context_binary", "name": "a", "file": "a.bin", "target": {"backend": "htp", "arch": "v73"}},
      {"type": "context_binary", "name": "b", "file": "b.bin", "target": {"backend": "htp", "arch": "v75"}}]})");

  ASSERT_EQ(run({path("manifest.json"), "--json"}), ExitCode::kOk) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["shared_bytes"], 0) << "one piece";
  ASSERT_EQ(run({path("manifest.json"), "--json", "--max-pieces", "9", "--force"}), ExitCode::kOk) << err_;
  const auto at_16 = nlohmann::json::parse(out_)["shared_bytes"].get<std::uint64_t>();
  EXPECT_GT(at_16, 0U);
  ASSERT_EQ(run({path("manifest.json"), "--json", "--max-pieces", "9", "--granule", "4", "--force"}), ExitCode::kOk);
  EXPECT_GT(nlohmann::json::parse(out_)["shared_bytes"].get<std::uint64_t>(), at_16);
  ASSERT_EQ(run({path("manifest.json"), "--json", "--sharing", "off", "--force"}), ExitCode::kOk);
  EXPECT_EQ(nlohmann::json::parse(out_)["shared_bytes"], 0);
}

// Shows S4.14.
TEST_F(Pack, TargetsOfOneModelStoreItsWeightsOnceWhetherTheCompilerSharedThemOrNot) {
  std::mt19937_64 random(3);
  const support::Bytes weights = support::random_bytes(random, 1'000'000);
  support::write_file(path("weights.bin"), weights);
  const auto stored = [this](std::vector<std::string> words) {
    words.insert(words.begin(), {"--name", "net", "--json", "--force"});
    EXPECT_EQ(run(words), ExitCode::kOk) << err_;
    return nlohmann::json::parse(out_)["stored_bytes"].get<std::uint64_t>();
  };
  std::vector<std::string> apart = {"--weights", path("weights.bin")};
  std::vector<std::string> inside;
  for (const char* arch : {"v68", "v73", "v75", "v79"}) {
    support::Bytes code = support::random_bytes(random, 8192);
    support::write_file(path(std::string(arch) + ".code"), code);
    code.insert(code.end(), weights.begin(), weights.end());
    support::write_file(path(std::string(arch) + ".whole"), code);
    apart.insert(apart.end(), {"--binary", path(std::string(arch) + ".code") + "@htp:" + arch});
    inside.insert(inside.end(), {"--binary", path(std::string(arch) + ".whole") + "@htp:" + arch});
  }

  const std::uint64_t once = 1'000'000 + 4 * 8192;
  EXPECT_LT(stored(apart), once + 4096);
  EXPECT_LT(stored(inside), once + 3 * 4096) << "the last page of each is not whole";
  inside.insert(inside.end(), {"--sharing", "off"});
  EXPECT_GT(stored(inside), 4'000'000U);
}

// Shows S4.9.
TEST_F(Pack, OneRecordIsAContainerThatADeviceChoosesFrom) {
  ASSERT_EQ(run({"--name", "net", "--binary", path("v3.vmfb") + "@cpu:x86-64-v3"}), ExitCode::kOk) << err_;

  const auto container = Container::open(path("out.fatctx"));

  ASSERT_TRUE(is_ok(container));
  const auto selection = container.value().select(device_from_text("x86-64-v4").value());
  ASSERT_TRUE(is_ok(selection));
  EXPECT_EQ(selection.value().chosen, (std::vector<std::uint32_t>{container.value().find("net.x86-64-v3").value().id}));
}

// Shows S3.37, S3.28.
TEST_F(Pack, AQdqModelIsKeptAsASourceModelAndSaysHowItAndItsBinariesWereQuantised) {
  onnx::ModelProto model = support::tiny_model();
  for (auto* const values : {model.mutable_graph()->mutable_input(), model.mutable_graph()->mutable_output()}) {
    values->Mutable(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(1);
  }
  auto& zero = *model.mutable_graph()->add_initializer();
  zero.set_name("zero");
  zero.set_data_type(onnx::TensorProto::UINT16);
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type("QuantizeLinear");
  for (const char* input : {"y", "zero", "zero"}) node.add_input(input);
  node.add_output("y/q");
  support::write_model(path("model.qdq.onnx"), model);
  support::write_text(path("manifest.json"), R"({"schema": "fatctx.manifest/1", "name": "n", "records": [
      {"type": "context_binary", "name": "a", "file": "v3.vmfb", "target": {"backend": "htp", "arch": "v75"},
       "graphs": {"from": "model.qdq.onnx"}},
      {"type": "source_model", "name": "s", "file": "model.qdq.onnx"}]})");

  ASSERT_EQ(run({path("manifest.json")}), ExitCode::kOk) << err_;

  EXPECT_EQ(err_, "");
  const auto container = Container::open(path("out.fatctx"));
  ASSERT_TRUE(is_ok(container));
  const auto description = container.value().describe();
  ASSERT_TRUE(is_ok(description));
  std::string said;
  for (const RecordDescription& record : description.value().records) {
    for (const DescribedOption& option : record.options) {
      said += container.value().record(record.record_id).value().name;
      said += ": " + option.owner + " " + option.key + " " + option.value + "\n";
    }
  }
  EXPECT_EQ(said,
            "a: quant activation_type uint16\ns: onnx operators MatMul, QuantizeLinear\n"
            "s: quant activation_type uint16\n");
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

}  // namespace pack_test
}  // namespace fatctx::tools
