// Rows read from a table of contents reproduce its bytes, and changed rows give a table that is canonical, too.
#include "container/write/toc_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "container/read/opened_file.h"
#include "support/appended.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/sliced_container.h"

namespace fatctx::container {
namespace toc_rows_test {

using support::is_ok;

TEST(TocRows, GiveTheBytesTheyWereMadeFrom) {
  const std::vector<support::Bytes> files = {
      support::unsealed_sample(), support::sealed_sample(), support::packed_bytes(support::mixed_records()),
      support::packed_bytes({}), support::append(support::unsealed_sample(), support::mixed_records()).bytes};
  for (const support::Bytes& file : files) {
    const Opened opened(file);
    const TocRows rows = rows_of(opened.toc.toc);
    const auto bytes = toc_bytes(rows);
    ASSERT_TRUE(is_ok(bytes));
    EXPECT_TRUE(std::ranges::equal(bytes.value(), opened.toc.toc.bytes));
    EXPECT_EQ(toc_size_of(rows).value().all, bytes.value().size());
  }
}

TEST(TocRows, HaveTheEmptyNameEvenIfNothingIsNamed) {
  const TocRows none;
  const auto bytes = toc_bytes(none);
  ASSERT_TRUE(is_ok(bytes));
  EXPECT_EQ(toc_size_of(none).value().all, bytes.value().size());
  EXPECT_EQ(bytes.value().size() - head_of(bytes.value()).size(), 2U);
}

// The header of the file with another table.
Header header_with(const Opened& opened, ByteView toc) {
  Header header = opened.toc.header;
  header.committed_end += toc.size() - header.toc_size;
  header.toc_size = toc.size();
  header.toc_head_size = head_of(toc).size();
  return header;
}

TEST(TocRows, AreInTheOrderOfEveryWordOfTheirKeys) {
  const Opened opened(support::packed_bytes({support::binary_record("a", "v73", support::pattern(500, 1)),
                                             support::binary_record("b", "v75", support::pattern(500, 2))}));
  const std::pair<const char*, std::function<void(KeyRow&)>> words[] = {
      {"group", [](KeyRow& key) { key.group = "z"; }},
      {"unit", [](KeyRow& key) { key.unit = "z"; }},
      {"backend", [](KeyRow& key) { key.backend = "z"; }},
      {"qnn_soc", [](KeyRow& key) { key.entry.qnn_soc = 57; }},
      {"part", [](KeyRow& key) { key.part = "z"; }},
      {"arch", [](KeyRow& key) { key.arch = "z"; }},
      {"features", [](KeyRow& key) { key.features = "z"; }},
      {"vtcm_mb", [](KeyRow& key) { key.entry.vtcm_mb = 8; }},
      {"sdk major", [](KeyRow& key) { key.entry.sdk.major_version = 1; }},
      {"sdk minor", [](KeyRow& key) { key.entry.sdk.minor_version = 1; }},
      {"sdk patch", [](KeyRow& key) { key.entry.sdk.patch_version = 1; }},
      {"sdk build", [](KeyRow& key) { key.entry.sdk.build_version = 1; }},
      {"variant", [](KeyRow& key) { key.variant = "z"; }},
  };
  for (const auto& [word, put] : words) {
    for (const std::size_t greater : {0U, 1U}) {
      TocRows rows = rows_of(opened.toc.toc);
      rows.records[1].key = rows.records[0].key;
      put(*rows.records[greater].key);
      const auto bytes = toc_bytes(rows);
      ASSERT_TRUE(is_ok(bytes)) << word;
      EXPECT_TRUE(is_ok(parse_toc(bytes.value(), header_with(opened, bytes.value()), 0))) << word << " " << greater;
    }
  }
}

TEST(TocRows, AreOrderedAgainAndNamesNobodyNeedsAreLeftOut) {
  const Opened opened(support::unsealed_sample());
  TocRows rows = rows_of(opened.toc.toc);
  std::reverse(rows.references.begin(), rows.references.end());
  EXPECT_TRUE(std::ranges::equal(toc_bytes(rows).value(), opened.toc.toc.bytes))
      << "the order of references is that of the format";

  const auto with_key = std::find_if(rows.records.begin(), rows.records.end(), [](const RecordRow& row) {
    return row.key && row.entry.type == static_cast<std::uint16_t>(RecordType::kContextBinary);
  });
  ASSERT_NE(with_key, rows.records.end());
  with_key->key->variant = "zz";
  with_key->name = "another name";
  const auto changed = toc_bytes(rows);
  ASSERT_TRUE(is_ok(changed));
  EXPECT_TRUE(is_ok(parse_toc(changed.value(), header_with(opened, changed.value()), 0)));
}

TEST(TocRows, AboveALimitAreRefused) {
  TocRows rows = rows_of(Opened(support::unsealed_sample()).toc.toc);
  rows.generations.resize(kMaxGenerations + 1);
  EXPECT_TRUE(support::fails_with(toc_bytes(rows), ErrorCode::kLimitExceeded));
  EXPECT_TRUE(support::fails_with(toc_size_of(rows), ErrorCode::kLimitExceeded));
}

}  // namespace toc_rows_test
}  // namespace fatctx::container
