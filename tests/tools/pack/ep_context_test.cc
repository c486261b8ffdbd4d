#include "tools/pack/ep_context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "support/dlc_file.h"
#include "support/result_matchers.h"
#include "tools/pack/ep_context_files.h"
#include "tools/sample_files.h"

namespace fatctx::tools {
namespace ep_context_test {

using support::add_node;
using support::context_model;
using support::fails_with;
using support::is_ok;
using support::set_number;
using support::TempDir;
using support::write_text;

class EpContext : public ::testing::Test {
 protected:
  Result<ImportedRecords> imported(const onnx::ModelProto& model, const std::string& words = {}) const {
    support::write_model(folder_.file("m_ctx.onnx"), model);
    return records_from_ep_context(folder_.file("m_ctx.onnx") + words, "chat");
  }
  Result<std::vector<ManifestRecord>> records(const onnx::ModelProto& model, const std::string& words = {}) const {
    FATCTX_ASSIGN(ImportedRecords found, imported(model, words));
    return std::move(found.records);
  }

  TempDir folder_;
};

TEST_F(EpContext, TheBinaryIsARecordWithTheTargetThatTheProviderNoted) {
  write_text(folder_.file("m_ctx_qnn.bin"), "opaque");

  const auto found = records(context_model("m_ctx_qnn.bin"));

  ASSERT_TRUE(is_ok(found));
  ASSERT_EQ(found.value().size(), 1U);
  const PackRecord& record = found.value()[0].record;
  EXPECT_EQ(record.type, RecordType::kContextBinary);
  EXPECT_EQ(record.name, "m_ctx_qnn.bin");
  EXPECT_EQ(std::filesystem::path(record.source.path), std::filesystem::path(folder_.file("m_ctx_qnn.bin")));
  EXPECT_EQ(record.key.group, "chat");
  EXPECT_EQ(record.key.backend, "htp");
  EXPECT_EQ(record.key.qnn_soc, 57U);
  EXPECT_EQ(record.key.arch, "v75");
  EXPECT_EQ(record.key.vtcm_mb, 8U);
  EXPECT_EQ(record.key.sdk, (Version{2, 51, 0, 0}));
  EXPECT_EQ(record.description.format, "qnn-context-binary");
  ASSERT_EQ(record.description.graphs.size(), 1U);
  EXPECT_EQ(record.description.graphs[0].name, "QNN_1");
  EXPECT_EQ(record.description.graphs[0].inputs.size(), 1U);
}

TEST_F(EpContext, WhatTheProviderDidNotStateStaysUnstated) {
  write_text(folder_.file("m.bin"), "opaque");

  const auto found = records(context_model("m.bin", "v2:6:unknown:5.51.0:0:57:0:0"));

  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value()[0].record.key.qnn_soc, 57U);
  EXPECT_EQ(found.value()[0].record.key.arch, "");
  EXPECT_EQ(found.value()[0].record.key.vtcm_mb, 0U);
  EXPECT_FALSE(found.value()[0].record.key.sdk.known());
}

TEST_F(EpContext, NodesThatShareABinaryAreGraphsOfOneRecord) {
  write_text(folder_.file("m.bin"), "opaque");
  auto model = context_model("m.bin");
  add_node(model, "QNN_2", "m.bin");
  auto& follower = add_node(model, "QNN_3", "");
  set_number(follower, "main_context", 0);

  const auto found = records(model);

  ASSERT_TRUE(is_ok(found));
  ASSERT_EQ(found.value().size(), 1U);
  EXPECT_EQ(found.value()[0].record.description.graphs.size(), 3U);
}

TEST_F(EpContext, ABinaryThatIsAMultiSocDlcBecomesItsEntries) {
  auto writer = support::two_socs();
  support::write_file(folder_.file("m_qnn.bin"), writer.write());

  const auto found = records(context_model("m_qnn.bin", "v2:6:2.51.0:5.51.0:75,79:57,69:8,8:0"));

  ASSERT_TRUE(is_ok(found));
  ASSERT_EQ(found.value().size(), 6U);
  EXPECT_EQ(found.value()[2].record.name, "htp.cache.57.0");
  EXPECT_EQ(found.value()[5].record.name, "dlc.layout");
}

std::vector<std::string> graphs_of(const ManifestRecord& record) {
  std::vector<std::string> names;
  for (const DescribedGraph& graph : record.record.description.graphs) names.push_back(graph.name);
  return names;
}

TEST_F(EpContext, AGraphOfADlcBelongsToTheBinariesThatListIt) {
  auto writer = support::two_socs();
  support::write_file(folder_.file("m.dlc"), writer.write());
  auto model = context_model("m.dlc");
  model.mutable_graph()->mutable_node(0)->set_name("prefill");
  add_node(model, "decode", "m.dlc");
  add_node(model, "extend", "m.dlc");

  const auto found = imported(model);

  ASSERT_TRUE(is_ok(found));
  const std::vector<ManifestRecord>& records = found.value().records;
  ASSERT_EQ(records.size(), 6U);
  // The first record is a weight blob, and only the binary for SoC 57 has the third graph.
  const std::vector<std::string> of_57 = {"prefill", "decode", "extend"};
  const std::vector<std::string> of_69 = {"prefill", "decode"};
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(graphs_of(records[i]), i == 2 ? of_57 : i == 3 ? of_69 : std::vector<std::string>()) << i;
  }
  EXPECT_TRUE(found.value().notes.empty()) << found.value().notes.front();
}

TEST_F(EpContext, TwoModelsOfOneDlcBecomeItsEntriesOnce) {
  auto writer = support::two_socs();
  support::write_file(folder_.file("m.dlc"), writer.write());
  auto model = context_model("m.dlc");
  model.mutable_graph()->mutable_node(0)->set_name("prefill");
  auto first = records(model);
  model.mutable_graph()->mutable_node(0)->set_name("decode");
  const auto second = records(model);
  ASSERT_TRUE(is_ok(first));
  ASSERT_TRUE(is_ok(second));

  for (const ManifestRecord& made : second.value()) {
    const auto joined = joined_with(first.value(), made);
    ASSERT_TRUE(is_ok(joined));
    EXPECT_TRUE(joined.value()) << made.record.name;
  }
  support::write_file(folder_.file("other.dlc"), support::two_socs(false).write());
  const auto other = records(context_model("other.dlc"));
  ASSERT_TRUE(is_ok(other));
  EXPECT_FALSE(joined_with(first.value(), other.value().back()).value()) << "the layout of another DLC";
}

TEST_F(EpContext, AGraphThatNoBinaryOfTheDlcListsIsANote) {
  auto writer = support::two_socs();
  support::write_file(folder_.file("m.dlc"), writer.write());
  auto model = context_model("m.dlc");
  model.mutable_graph()->mutable_node(0)->set_name("decode");
  add_node(model, "other", "m.dlc");
  set_number(add_node(model, "follower", ""), "main_context", 0);

  const auto found = imported(model);

  ASSERT_TRUE(is_ok(found));
  ASSERT_EQ(found.value().notes.size(), 2U);
  EXPECT_NE(found.value().notes[0].find("m.dlc lists the graph \"other\" of node \"other\""), std::string::npos)
      << found.value().notes[0];
  EXPECT_NE(found.value().notes[1].find("\"follower\""), std::string::npos) << found.value().notes[1];
  EXPECT_TRUE(graphs_of(found.value().records[0]).empty());
}

TEST_F(EpContext, ADlcThatListsNoGraphsGetsThemFromTheModelForEverySoc) {
  support::DlcWriter writer;
  writer.entry("htp.cache.57.0", 4096, 'a');
  writer.entry("htp.cache.69.0", 4096, 'b');
  writer.entry("dlc.metadata2.3.0", R"({"cacheList": [{"cacheName": "htp.cache.57.0", "socModel": 57},
    {"cacheName": "htp.cache.69.0", "socModel": 69}]})");
  support::write_file(folder_.file("m.dlc"), writer.write());
  auto model = context_model("m.dlc");
  add_node(model, "QNN_2", "m.dlc");
  set_number(add_node(model, "QNN_3", ""), "main_context", 0);

  const auto found = records(model);

  ASSERT_TRUE(is_ok(found));
  const std::vector<std::string> all = {"QNN_1", "QNN_2", "QNN_3"};
  EXPECT_EQ(graphs_of(found.value()[0]), all);
  EXPECT_EQ(graphs_of(found.value()[1]), all);
  EXPECT_EQ(found.value()[0].record.description.graphs[1].inputs.size(), 1U);
}

TEST_F(EpContext, WordsBehindTheModelNameItsBinary) {
  write_text(folder_.file("m.bin"), "opaque");
  auto model = context_model("m.bin");

  const auto one = records(model, ",name=first,unit=decode,variant=small,group=g");
  ASSERT_TRUE(is_ok(one));
  EXPECT_EQ(one.value()[0].record.name, "first");
  EXPECT_EQ(one.value()[0].record.key.unit, "decode");
  EXPECT_EQ(one.value()[0].record.key.variant, "small");
  EXPECT_EQ(one.value()[0].record.key.group, "g");

  write_text(folder_.file("n.bin"), "opaque");
  add_node(model, "QNN_2", "n.bin");
  const auto two = records(model, ",name=first");
  ASSERT_TRUE(is_ok(two));
  EXPECT_EQ(two.value()[0].record.name, "first.m.bin");
  EXPECT_EQ(two.value()[1].record.name, "first.n.bin");

  const auto misspelt = records(model, ",nam=first");
  ASSERT_TRUE(fails_with(misspelt, ErrorCode::kInvalidArgument));
  EXPECT_NE(misspelt.error().message.find("did you mean name="), std::string::npos) << misspelt.error().message;
}

TEST_F(EpContext, WordsWithoutAModelAreRefused) {
  const auto found = records_from_ep_context(",name=first", "chat");
  ASSERT_TRUE(fails_with(found, ErrorCode::kInvalidArgument));
  EXPECT_NE(found.error().message.find("--ep-context ,name=first: no file"), std::string::npos)
      << found.error().message;
}

TEST_F(EpContext, WordsBehindTheModelNameTheEntriesOfItsDlc) {
  auto writer = support::two_socs();
  support::write_file(folder_.file("m_qnn.bin"), writer.write());

  const auto found = records(context_model("m_qnn.bin"), ",name=first,unit=decode");

  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value()[2].record.name, "first.htp.cache.57.0");
  EXPECT_EQ(found.value()[2].record.key.unit, "decode");
}

TEST_F(EpContext, ABinaryOfOpenVinoIsOpaque) {
  write_text(folder_.file("m.bin"), "OVEP_BIN and more");

  const auto found = records(context_model("m.bin"));

  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(found.value()[0].record.description.format, "ovep-bin");
  EXPECT_EQ(found.value()[0].record.key.backend, "openvino");
  EXPECT_EQ(found.value()[0].record.key.qnn_soc, 0U);
}

TEST_F(EpContext, ANameThatLeadsOutOfTheFolderIsRefused) {
  for (const char* name : {"/etc/passwd", "../m.bin", "a/../../m.bin", ""}) {
    EXPECT_TRUE(fails_with(records(context_model(name)), ErrorCode::kInvalidArgument)) << name;
  }
}

TEST_F(EpContext, WhatCannotBePackedIsRefusedWithTheReason) {
  EXPECT_TRUE(fails_with(records(support::tiny_model()), ErrorCode::kInvalidArgument));  // no EPContext node
  write_text(folder_.file("m.bin"), "opaque");
  EXPECT_TRUE(fails_with(records(context_model("m.bin", "v2:6:2.51.0:5.51.0:75,79:57,69:8,8:0")),
                         ErrorCode::kInvalidArgument));  // two targets for one binary
  auto embedded = context_model("m.bin");
  embedded.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_i(1);
  EXPECT_TRUE(fails_with(records(embedded), ErrorCode::kInvalidArgument));
  auto followers = support::tiny_model();
  followers.mutable_graph()->clear_node();
  set_number(add_node(followers, "QNN_1", ""), "main_context", 0);
  EXPECT_TRUE(fails_with(records(followers), ErrorCode::kInvalidArgument));
}

TEST(QnnCompatibility, EachElementOfTheListsIsATarget) {
  const auto targets = parse_qnn_compatibility("v2:6:2.51.0:5.51.0:75,79:57,69:8,4:0");
  ASSERT_TRUE(is_ok(targets));
  ASSERT_EQ(targets.value().size(), 2U);
  EXPECT_EQ(targets.value()[1].qnn_soc, 69U);
  EXPECT_EQ(targets.value()[1].arch, 79U);
  EXPECT_EQ(targets.value()[1].vtcm_mb, 4U);
}

TEST(QnnCompatibility, AnotherVersionGivesNoTargets) {
  for (const char* text : {"", "v1:75", "v3:6:2.51.0:5.51.0:75:57:8:0"}) {
    const auto targets = parse_qnn_compatibility(text);
    ASSERT_TRUE(is_ok(targets)) << text;
    EXPECT_TRUE(targets.value().empty()) << text;
  }
}

TEST(QnnCompatibility, MalformedTextsAreRefused) {
  for (const char* text : {"v2", "v2:::::::", "v2:6:2:5:75:57:8", "v2:6:2:5:75,79:57:8:0", "v2:6:2:5:x:57:8:0",
                           "v2:6:2:5:75:99999999999:8:0", "v2:6:2:5:75:57:8:0:1"}) {
    EXPECT_TRUE(fails_with(parse_qnn_compatibility(text), ErrorCode::kMalformed)) << text;
  }
}

TEST(FormatOf, FilesAreKnownByTheirFirstBytes) {
  TempDir folder;
  const auto of = [&](const std::string& bytes, const std::string& name = "file") {
    write_text(folder.file(name), bytes);
    return format_of(folder.file(name));
  };
  EXPECT_EQ(of("IRPA...."), "irpa");
  EXPECT_EQ(of("OVEP_BIN"), "ovep-bin");
  EXPECT_EQ(of(support::module_bytes("x")), "iree-vmfb");
  EXPECT_EQ(of(std::string("PK\x03\x04") + "xxxx", "m.vmfb"), "iree-vmfb");
  EXPECT_EQ(of("PK"), "");
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(format_of(folder.file("missing")), "");
  auto writer = support::two_socs();
  support::write_file(folder.file("m.dlc"), writer.write());
  EXPECT_EQ(format_of(folder.file("m.dlc")), "dlc");
}

}  // namespace ep_context_test
}  // namespace fatctx::tools
