// Texts that are refused as JSON of the tools for Snapdragon. Those that are read: tests/tools/facts/qnn_json_test.cc.
#include "fatctx/import_qnn_json.h"

#include <gtest/gtest.h>

#include <string>

#include "support/result_matchers.h"

namespace fatctx {
namespace qnn_json_refusals_test {

using support::fails_with;
using support::is_ok;

TEST(QnnJsonRefusals, TextsThatAreNoJsonAreToldWithTheirPlace) {
  struct Row {
    std::string text;
    std::string words;
  };
  const Row rows[] = {
      {R"({"graph": {"nodes": {}},})", "m.json: not JSON; it becomes invalid at its byte 25"},
      {R"({"graph": {"nodes": {}, "nodes": {}}})", "m.json: /graph/nodes: the key appears twice in one object"},
      {std::string(65, '[') + std::string(65, ']'), "m.json: lists and objects more than 64 deep"},
  };
  for (const Row& row : rows) {
    const auto nodes = nodes_from_qnn_json(row.text, "m.json");
    ASSERT_TRUE(fails_with(nodes, ErrorCode::kInvalidArgument)) << row.text;
    EXPECT_EQ(nodes.error().message, row.words);
  }
}

TEST(QnnJsonRefusals, TheJsonOfAContextBinaryHasNoOperators) {
  for (const char* text : {R"({"info": {"graphs": []}})", R"({"graph": {"tensors": {}}})", "[]"}) {
    const auto nodes = nodes_from_qnn_json(text, "m.json");
    ASSERT_TRUE(fails_with(nodes, ErrorCode::kUnsupported)) << text;
    EXPECT_EQ(nodes.error().message.rfind("m.json: no graph.nodes", 0), 0U) << nodes.error().message;
  }
  EXPECT_TRUE(is_ok(nodes_from_qnn_json(R"({"graph": {"nodes": {}}})", "m.json")));
}

}  // namespace qnn_json_refusals_test
}  // namespace fatctx
