// Descriptions as a file stores them, and the reader's answer to invalid ones.
#include "container/format/metadata_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "container/read/open.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace metadata_codec_test {

using support::Bytes;
using support::fails_with;

TEST(Description, OneAboveTheLimitIsRefusedBeforeItIsParsed) {
  // A field of unknown number and unbounded length parses well: only its size is wrong.
  Bytes bytes((std::size_t{1} << 20) + 1, std::byte{0});
  bytes[0] = std::byte{0xfa};  // field 127, bytes
  bytes[1] = std::byte{0x07};
  const std::size_t payload = bytes.size() - 5;
  bytes[2] = std::byte(0x80 | (payload & 0x7f));
  bytes[3] = std::byte(0x80 | (payload >> 7 & 0x7f));
  bytes[4] = std::byte(payload >> 14 & 0x7f);

  EXPECT_TRUE(fails_with(decode_description(bytes), ErrorCode::kLimitExceeded, "F32"));
}

TEST(Description, OneAboveTheLimitIsNotWritten) {
  ContainerDescription description;
  description.name.assign((std::size_t{1} << 20) - 4, 'n');  // a byte of tag and three of size before it
  EXPECT_TRUE(support::is_ok(encode_description(description)));
  description.name.push_back('n');
  EXPECT_TRUE(fails_with(encode_description(description), ErrorCode::kLimitExceeded, "F32"));
}

TEST(Description, DamagedBytesInAFileAreRefusedBeforeTheyAreParsed) {
  support::MemoryFile file(support::packed_bytes(support::cpu_records()));
  const auto opened = read_toc(file, file.size());
  ASSERT_TRUE(opened.ok()) << to_text(opened.error());
  const RecordInfo* description = nullptr;
  for (const RecordInfo& record : opened.value().toc.records) {
    if (record.type == RecordType::kDescription) description = &record;
  }
  ASSERT_NE(description, nullptr);
  file.bytes()[static_cast<std::size_t>(description->file_offset)] ^= std::byte{1};

  EXPECT_TRUE(fails_with(read_metadata_record(file, opened.value().toc, *description, WorkBudget(opened.value().toc)),
                         ErrorCode::kChecksumMismatch, "F37"));
}

// Shows S1.23.
TEST(Description, TheSpillFillSizeOfEveryGraphComesBack) {
  ContainerDescription description;
  description.records.push_back(
      {.record_id = 1, .producer = {}, .format = {}, .graphs = {}, .options = {}, .notes = {}});
  auto& graphs = description.records[0].graphs;
  graphs.push_back({.name = "prefill", .inputs = {}, .outputs = {}, .spill_fill_bytes = std::uint64_t{1} << 40});
  graphs.push_back({.name = "decode", .inputs = {}, .outputs = {}});

  const auto bytes = encode_description(description);
  ASSERT_TRUE(bytes.ok()) << to_text(bytes.error());
  const auto read = decode_description(bytes.value());
  ASSERT_TRUE(read.ok()) << to_text(read.error());
  EXPECT_EQ(read.value().records[0].graphs[0].spill_fill_bytes, std::uint64_t{1} << 40);
  EXPECT_EQ(read.value().records[0].graphs[1].spill_fill_bytes, 0U);
}

TEST(Description, ScalesOfTensorsAndFactsOfGraphsComeBack) {
  DescribedGraph graph{.name = "g", .inputs = {}, .outputs = {}};
  graph.inputs.push_back({"x", "uint8", {1, 3}, {{0.02941391058266163, -125}}});
  graph.outputs.push_back({"y", "int8", {2, 2}, {{0.5, 0}, {-1e300, INT64_MIN}}, 1});
  graph.options = {{"optimizationLevel", "3", "qnn"}, {"cache_dir", "/somewhere", "qnn"}};
  ContainerDescription description;
  description.records.push_back(
      {.record_id = 1, .producer = {}, .format = {}, .graphs = {graph}, .options = {}, .notes = {}});

  const auto bytes = encode_description(description);
  ASSERT_TRUE(bytes.ok()) << to_text(bytes.error());
  const auto read = decode_description(bytes.value());
  ASSERT_TRUE(read.ok()) << to_text(read.error());
  const DescribedGraph& found = read.value().records[0].graphs[0];
  EXPECT_EQ(found.inputs[0].scales, graph.inputs[0].scales);
  EXPECT_EQ(found.outputs[0].scales, graph.outputs[0].scales);
  EXPECT_EQ(found.outputs[0].axis, 1U);
  ASSERT_EQ(found.options.size(), 2U);
  EXPECT_EQ(found.options[0].key + "=" + found.options[0].value + " of " + found.options[0].owner,
            "optimizationLevel=3 of qnn");
  EXPECT_EQ(found.options[1].value, "given at run time");  // no path of a host is stored
}

TEST(Description, AReadThatFailsIsNotTakenForDamage) {
  support::MemoryFile file(support::packed_bytes(support::cpu_records()));
  const auto opened = read_toc(file, file.size());
  ASSERT_TRUE(opened.ok()) << to_text(opened.error());
  const auto& records = opened.value().toc.records;
  const auto description = std::find_if(
      records.begin(), records.end(), [](const RecordInfo& record) { return record.type == RecordType::kDescription; });
  ASSERT_NE(description, records.end());
  file.fail(support::FileCall::kRead, file.calls(support::FileCall::kRead), true);

  EXPECT_TRUE(fails_with(read_metadata_record(file, opened.value().toc, *description, WorkBudget(opened.value().toc)),
                         ErrorCode::kIo));
}

}  // namespace metadata_codec_test
}  // namespace fatctx::container
