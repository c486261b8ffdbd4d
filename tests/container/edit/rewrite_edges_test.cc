// Rewriting and merging at the edges of their rules: the largest small record, options of one owner, weights that go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "container/read/opened_file.h"
#include "container/read/read_description.h"
#include "fatctx/rewrite.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace rewrite_edges_test {

using support::Bytes;
using support::is_ok;
using support::read_file;
using support::TempDir;
using ::testing::UnorderedElementsAre;

SegmentKind kind_of(const Opened& opened, std::string_view record) {
  const Toc& toc = opened.toc.toc;
  return toc.segments[toc.slices[toc.forms[toc.index_of(opened.record(record))].first_slice].segment].kind;
}

TEST(RewriteEdges, TheLargestSmallRecordKeepsItsExtent) {
  const TempDir folder;
  PackOptions options;
  options.overwrite = true;
  for (const std::size_t size : {std::size_t{kLeafSize}, std::size_t{kLeafSize} + 1}) {
    for (const bool own : {false, true}) {
      PackRecord record = support::plain_record(RecordType::kOpaque, "notes", support::pattern(size, 1));
      record.own_extent = own;
      const std::string path = folder.file("in");
      ASSERT_TRUE(is_ok(support::pack({std::move(record)}, path, options)));
      const SegmentKind kind = kind_of(Opened(read_file(path)), "notes");
      EXPECT_EQ(kind == SegmentKind::kPacked, size == kLeafSize && !own);

      ASSERT_TRUE(is_ok(rewrite_container(path, path)));

      EXPECT_EQ(kind_of(Opened(read_file(path)), "notes"), kind) << size << own;
    }
  }
}

TEST(RewriteEdges, AMergeLeavesOutTheOptionsOfOneOwner) {
  const TempDir folder;
  const std::vector<std::string> sources = {folder.file("one"), folder.file("two")};
  for (const std::string& path : sources) {
    PackOptions options;
    options.options = {{"threads", "4", "cpu"}, {"name", "7", "job"}, {"depth", "2", ""}};
    ASSERT_TRUE(is_ok(
        support::pack({support::plain_record(RecordType::kOpaque, "notes", support::pattern(90, 1))}, path, options)));
  }
  const auto keys_without = [&](const std::string& owner) {
    MergeOptions options;
    options.overwrite = true;
    options.without_options_of = owner;
    EXPECT_TRUE(is_ok(merge_containers(sources, folder.file("merged"), options)));
    const Opened merged(read_file(folder.file("merged")));
    std::vector<std::string> keys;
    const ContainerDescription description = read_description(merged.file, merged.toc.toc).value();
    for (const DescribedOption& option : description.options) keys.push_back(option.key);
    return keys;
  };
  EXPECT_THAT(keys_without(""), UnorderedElementsAre("threads", "name", "depth"));
  EXPECT_THAT(keys_without("job"), UnorderedElementsAre("threads", "depth"));
  EXPECT_THAT(keys_without("nobody"), UnorderedElementsAre("threads", "name", "depth"));
}

TEST(RewriteEdges, WeightsOfABinaryThatGoesGoEvenIfTheyWouldFit) {
  std::vector<PackRecord> records = support::cpu_records();
  records.push_back(support::plain_record(RecordType::kWeightBlob, "its weights", support::pattern(9'000, 40)));
  records[0].weights = {"its weights"};
  const std::string gone = records[0].name;
  const Opened opened(support::packed_bytes(std::move(records)));

  const std::vector<std::uint32_t> left =
      records_left(opened.toc.toc.records, [&](const RecordInfo& record) { return record.name != gone; });

  EXPECT_EQ(std::count(left.begin(), left.end(), opened.record("its weights").id), 0);
  EXPECT_EQ(std::count(left.begin(), left.end(), opened.record("weights").id), 1);
}

}  // namespace rewrite_edges_test
}  // namespace fatctx::container
