// Rewriting and merging at the edges of their rules: the largest small record, options of one owner, weights that go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "container/read/opened_file.h"
#include "container/read/read_description.h"
#include "fatctx/keys.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
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

TEST(RewriteEdges, TheMostPiecesAreThoseThatWereAskedFor) {
  const TempDir folder;
  const Bytes one = support::pattern(4 * kLeafSize, 1);
  Bytes two = one;
  two[2 * kLeafSize + 5] ^= std::byte{1};
  const std::vector<std::string> sources = {folder.file("one"), folder.file("two")};
  ASSERT_TRUE(is_ok(support::pack({support::binary_record("one", "v73", one)}, sources[0])));
  ASSERT_TRUE(is_ok(support::pack({support::binary_record("two", "v75", two)}, sources[1])));
  const auto most_pieces = [](const std::string& path) {
    std::uint32_t most = 0;
    const Opened opened(read_file(path));
    for (const RecordInfo& record : opened.toc.toc.records) most = std::max(most, record.slice_count);
    return most;
  };
  ASSERT_TRUE(is_ok(merge_containers(sources, folder.file("merged"))));
  EXPECT_EQ(most_pieces(folder.file("merged")), 3U);

  MergeOptions merging;
  merging.max_pieces = 1;
  ASSERT_TRUE(is_ok(merge_containers(sources, folder.file("whole"), merging)));
  EXPECT_EQ(most_pieces(folder.file("whole")), 1U);
  RewriteOptions rewriting;
  rewriting.max_pieces = 1;
  ASSERT_TRUE(is_ok(rewrite_container(folder.file("merged"), folder.file("written anew"), rewriting)));
  EXPECT_EQ(most_pieces(folder.file("written anew")), 1U);
}

TEST(RewriteEdges, OnlyTheLossOfASignatureIsToldAsOne) {
  const TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const std::string plain = folder.file("plain");
  const std::string signed_path = folder.file("signed");
  support::write_file(plain, support::unsealed_sample());
  ASSERT_TRUE(is_ok(sign_container(plain, keys.secret_path, signed_path)));

  const auto of_plain = rewrite_container(plain, folder.file("a"));
  const auto of_signed = rewrite_container(signed_path, folder.file("b"));

  ASSERT_TRUE(is_ok(of_plain));
  ASSERT_TRUE(is_ok(of_signed));
  EXPECT_TRUE(of_plain.value().pack.warnings.empty());
  EXPECT_EQ(of_signed.value().pack.warnings,
            std::vector<std::string>{signed_path + " is signed, and the new file is not: sign it with `fatctx sign`"});
}

TEST(RewriteEdges, AMergeGivesRecordsTheirNewNames) {
  const TempDir folder;
  const std::vector<std::string> sources = {folder.file("one"), folder.file("two")};
  PackRecord binary = support::binary_record("binary", "v73", support::pattern(700, 1));
  binary.weights = {"weights"};
  PackRecord wrapper = support::plain_record(RecordType::kWrapperModel, "wrapper", support::pattern(900, 2));
  wrapper.key.variant = "wrapper";
  const PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(800, 3));
  ASSERT_TRUE(is_ok(support::pack({binary, weights}, sources[0])));
  ASSERT_TRUE(is_ok(support::pack({wrapper}, sources[1])));
  MergeOptions options;
  options.new_names = {{"binary", "first"}, {"weights", "its weights"}, {"wrapper", "model"}};

  ASSERT_TRUE(is_ok(merge_containers(sources, folder.file("merged"), options)));

  const Opened merged(read_file(folder.file("merged")));
  std::vector<std::string> names;
  for (const RecordInfo& record : merged.toc.toc.records) names.emplace_back(record.name);
  EXPECT_THAT(names, UnorderedElementsAre("first", "its weights", "model", "description"));
  EXPECT_THAT(merged.record("first").weights, testing::ElementsAre(merged.record("its weights").id));
  EXPECT_EQ(merged.record("model").key.variant, "model");
}

}  // namespace rewrite_edges_test
}  // namespace fatctx::container
