// Rows read from a table of contents reproduce its bytes, and changed rows give a table that is canonical, too.
#include "container/write/toc_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "container/read/opened_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/sliced_container.h"

namespace fatctx::container {
namespace toc_rows_test {

using support::is_ok;

TEST(TocRows, GiveTheBytesTheyWereMadeFrom) {
  const std::vector<support::Bytes> files = {support::unsealed_sample(), support::sealed_sample(),
                                             support::packed_bytes(support::mixed_records()),
                                             support::packed_bytes({})};
  for (const support::Bytes& file : files) {
    const Opened opened(file);
    const TocRows rows = rows_of(opened.toc.toc);
    const auto bytes = toc_bytes(rows);
    ASSERT_TRUE(is_ok(bytes));
    EXPECT_TRUE(std::ranges::equal(bytes.value(), opened.toc.toc.bytes));
    EXPECT_EQ(toc_size_of(rows).value().all, bytes.value().size());
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
  Header header = opened.toc.header;
  header.committed_end += changed.value().size() - header.toc_size;
  header.toc_size = changed.value().size();
  header.toc_head_size = head_of(changed.value()).size();
  EXPECT_TRUE(is_ok(parse_toc(changed.value(), header, 0)));
}

TEST(TocRows, AboveALimitAreRefused) {
  TocRows rows = rows_of(Opened(support::unsealed_sample()).toc.toc);
  rows.generations.resize(kMaxGenerations + 1);
  EXPECT_TRUE(support::fails_with(toc_bytes(rows), ErrorCode::kLimitExceeded));
  EXPECT_TRUE(support::fails_with(toc_size_of(rows), ErrorCode::kLimitExceeded));
}

}  // namespace toc_rows_test
}  // namespace fatctx::container
