// The output of rewriting a container, and the state that a failure leaves.
#include "fatctx/rewrite.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "container/check/verify.h"
#include "container/read/opened_file.h"
#include "container/read/read_description.h"
#include "container/write/toc_rows.h"
#include "mapping/append_file.h"
#include "support/appended.h"
#include "support/hostile_file.h"
#include "support/result_matchers.h"
#include "support/tensor_corpus.h"

namespace fatctx::container {
namespace rewrite_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::read_file;
using support::TempDir;
using support::write_file;

PackOptions sharing_by(Sharing sharing) {
  PackOptions options;
  options.sharing = sharing;
  options.model_name = "chips";
  return options;
}

std::vector<PackRecord> chip_records() {
  const support::ChipCorpus corpus = support::make_chip_corpus(7, {.tensors = 6, .rows = 32});
  std::vector<PackRecord> records;
  for (std::size_t i = 0; i < corpus.chips.size(); ++i) {
    PackRecord record = support::binary_record("chip" + std::to_string(i), "v7" + std::to_string(i), corpus.chips[i]);
    record.key.backend = "htp";
    record.key.qnn_soc = 30 + static_cast<std::uint32_t>(i);
    records.push_back(std::move(record));
  }
  return records;
}

// Returns every kind of record, and the properties that are kept by name: codecs, extents, tensors, descriptions.
std::vector<PackRecord> all_kinds() {
  std::vector<PackRecord> records = support::cpu_records();
  for (PackRecord& record : support::mixed_records()) records.push_back(std::move(record));
  PackRecord cold = support::plain_record(RecordType::kSourceModel, "cold", Bytes(200'000, std::byte{7}));
  cold.codec = Codec::kLz4;
  records.push_back(std::move(cold));
  PackRecord own = support::plain_record(RecordType::kOpaque, "own", support::pattern(500, 77));
  own.own_extent = true;
  records.push_back(std::move(own));
  PackRecord same = support::plain_record(RecordType::kOpaque, "same", support::pattern(70'001, 21));  // equals "large"
  records.push_back(std::move(same));
  const std::vector<support::CorpusTensor> tensors = support::corpus_tensors(3, 12);
  records.push_back(support::blob_record("blob.a", tensors));
  records.push_back(support::blob_record("blob.b", support::shuffled(tensors, 9), 256, 100));
  return records;
}

// The bytes of a file without those that identify its generation: header and tables of contents.
struct Content {
  explicit Content(const Bytes& bytes) : opened(bytes) {
    const Header& header = opened.toc.header;
    body = Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(header.toc_offset[0] + header.toc_size),
                 bytes.begin() + static_cast<std::ptrdiff_t>(header.toc_offset[1]));
    rows = rows_of(opened.toc.toc);
    rows.generation = 0;
    rows.uuid = {};
    for (SegmentEntry& segment : rows.segments) segment.generation = 0;
  }
  [[nodiscard]] Bytes table() const { return toc_bytes(rows).value(); }

  Opened opened;
  Bytes body;
  TocRows rows;
};

void expect_whole(const std::string& path) {
  const support::MemoryFile file(read_file(path));
  const auto report = verify_container(file, {});
  ASSERT_TRUE(is_ok(report));
  for (const VerifyFinding& finding : report.value().findings) ADD_FAILURE() << to_text(finding.error);
}

std::vector<std::string> names_of(const Opened& opened) {
  std::vector<std::string> names;
  for (const RecordInfo& record : opened.toc.toc.records) names.emplace_back(record.name);
  return names;
}

std::uint32_t id_of(const Opened& opened, std::string_view name) { return opened.record(name).id; }

std::vector<std::uint32_t> all_but(const Opened& opened, std::string_view name) {
  std::vector<std::uint32_t> ids;
  for (const RecordInfo& record : opened.toc.toc.records) {
    if (record.name != name) ids.push_back(record.id);
  }
  return ids;
}

ContainerDescription description_of(const std::string& path) {
  const Opened opened(read_file(path));
  return read_whole_description(opened.file, opened.toc.toc).value();
}

std::set<std::string> texts_of(const std::vector<DescribedOption>& options) {
  std::set<std::string> texts;
  for (const DescribedOption& one : options) texts.insert(one.owner + " " + one.key + " " + one.value);
  return texts;
}

class Rewrite : public testing::Test {
 protected:
  void pack_as(const std::string& name, std::vector<PackRecord> records, PackOptions options = {}) {
    ASSERT_TRUE(is_ok(support::pack(std::move(records), folder_.file(name), std::move(options))));
  }

  TempDir folder_;
  std::string in_ = folder_.file("in");
  std::string out_ = folder_.file("out");
};

TEST_F(Rewrite, AFreshFileComesOutByteForByteButForItsGeneration) {
  const std::vector<std::pair<std::string, std::vector<PackRecord>>> kinds = {{"all", all_kinds()},
                                                                              {"chips", chip_records()}};
  for (const auto& [kind, records] : kinds) {
    for (const Sharing sharing : {Sharing::kPages, Sharing::kBytes}) {
      SCOPED_TRACE(kind + (sharing == Sharing::kBytes ? " by bytes" : " by pages"));
      PackOptions options = sharing_by(sharing);
      options.options = {{"threads", "4", "cpu"}};
      options.overwrite = true;
      pack_as("in", records, options);
      const auto report = rewrite_container(in_, out_, {.overwrite = true});
      ASSERT_TRUE(is_ok(report));
      const Content before(read_file(in_));
      const Content after(read_file(out_));
      EXPECT_TRUE(before.body == after.body);
      EXPECT_TRUE(before.table() == after.table());
      EXPECT_EQ(after.opened.toc.header.uuid, before.opened.toc.header.uuid);
      EXPECT_EQ(after.opened.toc.header.generation, 2U);
      EXPECT_EQ(report.value().generation, 2U);
      EXPECT_TRUE(report.value().removed.empty());
      expect_whole(out_);
    }
  }
}

TEST_F(Rewrite, ExtentsAndGranulesStayAsTheyAre) {
  PackOptions options = sharing_by(Sharing::kPages);
  options.extent_log2 = 21;
  options.granule_log2 = 14;
  pack_as("in", chip_records(), options);
  ASSERT_TRUE(is_ok(rewrite_container(in_, out_)));
  const Content before(read_file(in_));
  const Content after(read_file(out_));
  EXPECT_EQ(after.opened.toc.header.extent_log2, 21);
  EXPECT_EQ(after.opened.toc.header.granule_log2, 14);
  EXPECT_TRUE(before.body == after.body);
}

TEST_F(Rewrite, WhatWasAppendedComesOutAsIfItHadBeenPackedWithTheRest) {
  std::vector<PackRecord> first = chip_records();
  std::vector<PackRecord> second = {first.back()};
  first.pop_back();
  pack_as("in", first, sharing_by(Sharing::kPages));
  support::Appended appended = support::append(read_file(in_), second);
  ASSERT_TRUE(is_ok(appended.report));
  write_file(in_, appended.bytes);
  pack_as("all", chip_records(), sharing_by(Sharing::kPages));

  const auto report = rewrite_container(in_, in_);
  ASSERT_TRUE(is_ok(report));
  const Content expected(read_file(folder_.file("all")));
  const Content found(read_file(in_));
  EXPECT_TRUE(found.body == expected.body);
  EXPECT_TRUE(found.table() == expected.table());
  EXPECT_EQ(found.opened.toc.header.generation, 3U);
  EXPECT_TRUE(found.opened.toc.toc.generations.empty());
  ASSERT_EQ(report.value().sources.size(), 1U);
  EXPECT_EQ(report.value().sources[0].generation, 2U);
  EXPECT_GT(report.value().sources[0].dead_bytes, 0U);
  EXPECT_EQ(report.value().sources[0].file_size, appended.bytes.size());
  expect_whole(in_);
}

TEST_F(Rewrite, AnEarlierGenerationComesBehindTheNewest) {
  pack_as("in", support::cpu_records());
  const Bytes first = read_file(in_);
  support::Appended appended =
      support::append(first, {support::binary_record("cpu-riscv", "riscv", support::pattern(900, 5))});
  ASSERT_TRUE(is_ok(appended.report));
  write_file(in_, appended.bytes);
  ASSERT_TRUE(is_ok(rewrite_container(in_, out_, {.generation = 1})));
  const Content before(first);
  const Content after(read_file(out_));
  EXPECT_TRUE(before.body == after.body);
  EXPECT_EQ(after.opened.toc.header.generation, 3U) << "nobody takes it for an older state of the file";
  EXPECT_TRUE(fails_with(rewrite_container(in_, folder_.file("x"), {.generation = 9}), ErrorCode::kNotFound));
}

TEST_F(Rewrite, WhatIsNotKeptIsGoneAndTheRestIsWhole) {
  pack_as("in", support::cpu_records());
  const Opened before(read_file(in_));
  const auto report = rewrite_container(in_, in_, {.keep = all_but(before, "cpu-x86-64-v3")});
  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().removed, std::vector<std::string>{"cpu-x86-64-v3"});
  EXPECT_TRUE(report.value().unused.empty());
  const Opened after(read_file(in_));
  std::vector<std::string> expected = names_of(before);
  std::erase(expected, "cpu-x86-64-v3");
  EXPECT_EQ(names_of(after), expected);
  for (const std::string& name : expected) {
    if (name == "description") continue;  // its content has ids
    EXPECT_EQ(after.bytes_of(name).value(), before.bytes_of(name).value()) << name;
  }
  expect_whole(in_);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in"});
}

TEST_F(Rewrite, WeightsStayAsLongAsABinaryRefersToThem) {
  pack_as("in", support::cpu_records());
  const Bytes bytes = read_file(in_);
  const Opened before(bytes);
  const auto refused = rewrite_container(in_, in_, {.keep = all_but(before, "weights")});
  ASSERT_TRUE(fails_with(refused, ErrorCode::kInvalidArgument));
  EXPECT_NE(refused.error().message.find("refers to weights \"weights\""), std::string::npos);
  EXPECT_TRUE(read_file(in_) == bytes);

  const auto only = rewrite_container(in_, out_, {.keep = std::vector{id_of(before, "weights")}});
  ASSERT_TRUE(is_ok(only));
  EXPECT_EQ(only.value().unused, std::vector<std::string>{"weights"});
  EXPECT_EQ(only.value().removed,
            (std::vector<std::string>{"cpu-aarch64", "cpu-x86-64-v2", "cpu-x86-64-v3", "cpu-x86-64-v4"}));
  EXPECT_EQ(names_of(Opened(read_file(out_))), (std::vector<std::string>{"weights", "weights.tensors", "description"}));
  EXPECT_TRUE(fails_with(rewrite_container(in_, folder_.file("x"), {.keep = std::vector{99U}}), ErrorCode::kNotFound));
}

TEST_F(Rewrite, NoRecipeLosesItsBase) {
  pack_as("in", chip_records(), sharing_by(Sharing::kBytes));
  const Opened before(read_file(in_));
  ASSERT_TRUE(std::any_of(before.toc.toc.records.begin(), before.toc.toc.records.end(),
                          [](const RecordInfo& record) { return record.recipe; }));
  for (const RecordInfo& record : before.toc.toc.records) {
    if (record.type != RecordType::kContextBinary) continue;
    const auto alone = rewrite_container(in_, out_, {.keep = std::vector{record.id}, .overwrite = true});
    ASSERT_TRUE(is_ok(alone));
    const Opened after(read_file(out_));
    EXPECT_EQ(after.bytes_of(record.name).value(), before.bytes_of(record.name).value());
    EXPECT_FALSE(after.record(record.name).recipe) << "alone it is whole again";
    EXPECT_EQ(after.record(record.name).slice_count, 1U);
    expect_whole(out_);
  }
}

TEST_F(Rewrite, SharingIsAsItWasUnlessSaidOtherwise) {
  pack_as("in", chip_records(), sharing_by(Sharing::kBytes));
  const auto kept = rewrite_container(in_, folder_.file("kept"));
  const auto pages = rewrite_container(in_, folder_.file("pages"), {.sharing = Sharing::kPages});
  const auto off = rewrite_container(in_, folder_.file("off"), {.sharing = Sharing::kOff});
  ASSERT_TRUE(is_ok(kept));
  ASSERT_TRUE(is_ok(pages));
  ASSERT_TRUE(is_ok(off));
  EXPECT_LT(kept.value().pack.stored_bytes, pages.value().pack.stored_bytes);
  EXPECT_LT(pages.value().pack.stored_bytes, off.value().pack.stored_bytes);
  // The way back gives the same bytes: a file contains nothing of its history.
  const auto back = rewrite_container(folder_.file("off"), folder_.file("back"), {.sharing = Sharing::kBytes});
  ASSERT_TRUE(is_ok(back));
  EXPECT_TRUE(Content(read_file(folder_.file("back"))).body == Content(read_file(in_)).body);
}

TEST_F(Rewrite, ASealedFileStaysSealedAndACopyCanBeUnsealed) {
  PackOptions sealed;
  sealed.seal = true;
  pack_as("in", support::cpu_records(), sealed);
  ASSERT_TRUE(is_ok(rewrite_container(in_, in_)));
  struct stat st = {};
  ASSERT_EQ(::stat(in_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0444U);
  EXPECT_TRUE(Opened(read_file(in_)).toc.header.sealed);
  ASSERT_TRUE(is_ok(rewrite_container(in_, out_, {.seal = false})));
  EXPECT_FALSE(Opened(read_file(out_)).toc.header.sealed);
  EXPECT_TRUE(is_ok(mapping::open_for_appending(out_)));
  ASSERT_TRUE(is_ok(rewrite_container(out_, out_, {.seal = true})));
  EXPECT_TRUE(Opened(read_file(out_)).toc.header.sealed);
}

TEST_F(Rewrite, WhoMayReadAFileMayReadTheNewOne) {
  pack_as("in", support::cpu_records());
  ASSERT_EQ(::chmod(in_.c_str(), 0640), 0);
  ASSERT_TRUE(is_ok(rewrite_container(in_, in_)));
  struct stat st = {};
  ASSERT_EQ(::stat(in_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0640U);

  pack_as("more", chip_records());
  ASSERT_TRUE(is_ok(merge_containers(std::vector<std::string>{in_, folder_.file("more")}, in_, {.overwrite = true})));
  ASSERT_EQ(::stat(in_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0640U);
}

TEST_F(Rewrite, DamageIsNamedAndNothingIsWritten) {
  pack_as("in", support::cpu_records());
  Bytes bytes = read_file(in_);
  const Opened opened(bytes);
  const RecordInfo& weights = opened.record("weights");
  bytes[static_cast<std::size_t>(weights.file_offset) + 70'000] ^= std::byte{4};
  write_file(in_, bytes);
  for (const std::string& target : {in_, out_}) {
    const auto report = rewrite_container(in_, target);
    ASSERT_TRUE(fails_with(report, ErrorCode::kChecksumMismatch, "F26"));
    EXPECT_EQ(report.error().where.record_id, weights.id);
    EXPECT_EQ(report.error().where.file_offset, weights.file_offset + 65'536);
    EXPECT_NE(report.error().message.find(in_), std::string::npos) << report.error().message;
  }
  EXPECT_TRUE(read_file(in_) == bytes);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in"});
  // Whole records can be saved.
  const auto saved = rewrite_container(in_, out_, {.keep = std::vector{opened.toc.toc.records.back().id}});
  EXPECT_TRUE(is_ok(saved));
}

TEST_F(Rewrite, WhileSomebodyAppendsNothingIsReplaced) {
  pack_as("in", support::cpu_records());
  const Bytes bytes = read_file(in_);
  const auto appending = mapping::open_for_appending(in_);
  ASSERT_TRUE(is_ok(appending));
  EXPECT_TRUE(fails_with(rewrite_container(in_, in_), ErrorCode::kLocked));
  EXPECT_TRUE(read_file(in_) == bytes);
  EXPECT_TRUE(is_ok(rewrite_container(in_, out_))) << "reading needs no lock";
}

TEST_F(Rewrite, AFileThatWasReplacedMeanwhileIsLeftAlone) {
  pack_as("in", support::cpu_records());
  const Bytes other = support::sealed_sample();
  const auto report = rewrite_container(in_, in_, {.progress = [&](std::uint64_t, std::uint64_t) {
                                          write_file(folder_.file("other"), other);
                                          std::filesystem::rename(folder_.file("other"), in_);
                                        }});
  ASSERT_TRUE(fails_with(report, ErrorCode::kChanged));
  EXPECT_TRUE(read_file(in_) == other);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in"});
}

TEST_F(Rewrite, ALinkIsNotReplaced) {
  pack_as("in", support::cpu_records());
  std::filesystem::create_symlink(in_, out_);
  EXPECT_TRUE(fails_with(rewrite_container(out_, out_), ErrorCode::kNotRegularFile));
  EXPECT_TRUE(std::filesystem::is_symlink(out_));
  EXPECT_TRUE(is_ok(rewrite_container(out_, folder_.file("copy")))) << "it can be read through";
}

TEST_F(Rewrite, AnotherFileIsReplacedOnlyWhenAsked) {
  pack_as("in", support::cpu_records());
  write_file(out_, support::pattern(100, 3));
  EXPECT_TRUE(fails_with(rewrite_container(in_, out_), ErrorCode::kExists));
  EXPECT_EQ(read_file(out_), support::pattern(100, 3));
  EXPECT_TRUE(is_ok(rewrite_container(in_, out_, {.overwrite = true})));
  expect_whole(out_);
}

TEST_F(Rewrite, CancelledItLeavesTheOldFileAndNoOther) {
  pack_as("in", all_kinds());
  const Bytes bytes = read_file(in_);
  std::atomic<bool> cancel = true;
  EXPECT_TRUE(fails_with(rewrite_container(in_, in_, {.cancel = &cancel}), ErrorCode::kCancelled));
  cancel = false;
  const auto later = rewrite_container(
      in_, in_, {.progress = [&](std::uint64_t, std::uint64_t) { cancel = true; }, .cancel = &cancel});
  EXPECT_TRUE(fails_with(later, ErrorCode::kCancelled));
  cancel = false;
  const auto at_the_end = rewrite_container(
      in_, in_,
      {.progress = [&](std::uint64_t done, std::uint64_t total) { cancel = done == total; }, .cancel = &cancel});
  EXPECT_TRUE(fails_with(at_the_end, ErrorCode::kCancelled)) << "nothing is read after that";
  EXPECT_TRUE(read_file(in_) == bytes);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in"});
}

TEST_F(Rewrite, ARecordThatIsOnlyListedIsNotLostInSilence) {
  support::HostileFile file(support::unsealed_sample());
  RecordEntry& unknown = file.records.at(0);
  unknown.type = 77;
  unknown.flags = kRecordIgnorable;
  file.keys.at(0).type = 77;
  std::rotate(file.keys.begin(), file.keys.begin() + 1, file.keys.end());
  std::erase_if(file.references, [&](const ReferenceEntry& entry) { return entry.from_record == unknown.record_id; });
  write_file(in_, file.bytes());
  const Opened opened(read_file(in_));
  const auto refused = rewrite_container(in_, out_);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kUnsupported)) << "it would be gone from the new file";
  EXPECT_EQ(refused.error().where.record_id, opened.toc.toc.records.front().id);
  EXPECT_TRUE(is_ok(rewrite_container(in_, out_, {.keep = all_but(opened, opened.toc.toc.records.front().name)})));
}

TEST_F(Rewrite, ADescriptionThatSaysMoreThanThisVersionKnowsIsNotCutShort) {
  support::HostileFile file(support::unsealed_sample());
  SegmentEntry& packed = file.segments.at(0);
  RecordEntry& description = file.records.back();
  SliceEntry& slice = file.slices.back();
  const Bytes more = {std::byte{0x7a}, std::byte{2}, std::byte{'h'}, std::byte{'i'}};  // field 15
  const std::uint64_t end = packed.offset + packed.size;
  packed.size = packed.size + more.size();
  description.logical_size = description.logical_size + more.size();
  description.stored_size = description.logical_size;
  slice.size = slice.size + more.size();
  file.in_payload = [&](Bytes& out) {
    std::copy(more.begin(), more.end(), out.begin() + static_cast<std::ptrdiff_t>(end));
  };
  file.rehash_payload = true;
  write_file(in_, file.bytes());
  expect_whole(in_);
  EXPECT_TRUE(fails_with(rewrite_container(in_, in_), ErrorCode::kUnsupported));
  EXPECT_TRUE(
      fails_with(support::append(read_file(in_), {support::binary_record("new", "v", support::pattern(50, 1))}).report,
                 ErrorCode::kUnsupported));
}

class Merge : public Rewrite {
 protected:
  Result<RewriteReport> merge(std::vector<std::string> names, const std::string& target, MergeOptions options = {}) {
    for (std::string& name : names) name = folder_.file(name);
    return merge_containers(names, folder_.file(target), options);
  }
};

TEST_F(Merge, GivesTheFileThatAllRecordsTogetherWouldHaveBeenPackedTo) {
  std::vector<PackRecord> records = chip_records();
  for (PackRecord& record : support::cpu_records()) records.push_back(std::move(record));
  pack_as("all", records, sharing_by(Sharing::kPages));
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<PackRecord> part = {records[i]};
    part.push_back(records[4 + i]);
    part.push_back(records.back());  // every part has the weights
    pack_as("part" + std::to_string(i), part, sharing_by(Sharing::kPages));
  }
  const auto report = merge({"part0", "part1", "part2", "part3"}, "out");
  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(read_file(out_) == read_file(folder_.file("all"))) << "uuid and generation too";
  EXPECT_EQ(report.value().sources.size(), 4U);
  ASSERT_TRUE(is_ok(merge({"part2", "part0", "part3", "part1"}, "again")));
  EXPECT_TRUE(read_file(folder_.file("again")) == read_file(out_)) << "in any order";
}

TEST_F(Merge, NoAppendToASourceThatIsReplacedIsLost) {
  pack_as("in", support::cpu_records());
  pack_as("more", chip_records());
  int looks = 0;
  const auto report =
      merge({"in", "more"}, "in", {.overwrite = true, .progress = [&](std::uint64_t, std::uint64_t) {
                                     ++looks;
                                     EXPECT_TRUE(fails_with(mapping::open_for_appending(in_), ErrorCode::kLocked));
                                   }});
  ASSERT_TRUE(is_ok(report));
  EXPECT_GT(looks, 0);
  EXPECT_TRUE(is_ok(mapping::open_for_appending(in_))) << "the lock is gone";
  const auto appending = mapping::open_for_appending(in_);
  const Bytes bytes = read_file(in_);
  EXPECT_TRUE(fails_with(merge({"in", "more"}, "in", {.overwrite = true}), ErrorCode::kLocked));
  EXPECT_TRUE(read_file(in_) == bytes);
}

TEST_F(Merge, ASourceThatWasReplacedMeanwhileIsLeftAlone) {
  pack_as("in", support::cpu_records());
  pack_as("more", chip_records());
  const Bytes other = support::sealed_sample();
  const auto report = merge({"more", "in"}, "in", {.overwrite = true, .progress = [&](std::uint64_t, std::uint64_t) {
                                                     write_file(folder_.file("other"), other);
                                                     std::filesystem::rename(folder_.file("other"), in_);
                                                   }});
  ASSERT_TRUE(fails_with(report, ErrorCode::kChanged));
  EXPECT_TRUE(read_file(in_) == other);
}

TEST_F(Merge, WhatTwoFilesSayDifferentlyUnderOneNameIsAnError) {
  pack_as("a", {support::binary_record("x", "v2", support::pattern(700, 1))});
  pack_as("bytes", {support::binary_record("x", "v2", support::pattern(700, 2))});
  pack_as("target", {support::binary_record("x", "v3", support::pattern(700, 1))});
  pack_as("key", {support::binary_record("y", "v2", support::pattern(700, 2))});
  PackRecord fact = support::binary_record("x", "v2", support::pattern(700, 1));
  fact.key.generic = true;
  pack_as("generic", {fact});
  fact.key.generic = false;
  fact.key.api = {2, 0, 0};
  pack_as("api", {fact});
  std::swap(fact.key.api, fact.key.blob);
  pack_as("blob", {fact});
  pack_as("type", {support::plain_record(RecordType::kOpaque, "x", support::pattern(700, 1))});
  for (const char* other : {"bytes", "target", "key", "generic", "api", "blob", "type"}) {
    SCOPED_TRACE(other);
    const auto report = merge({"a", other}, "out");
    ASSERT_TRUE(fails_with(report, ErrorCode::kExists));
    EXPECT_NE(report.error().message.find(folder_.file(other)), std::string::npos) << report.error().message;
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
  EXPECT_TRUE(is_ok(merge({"a", "a"}, "out"))) << "what is the same is taken once";
  EXPECT_TRUE(fails_with(merge({"a"}, "one"), ErrorCode::kInvalidArgument));
}

TEST_F(Merge, TensorsOfWeightsThatOnlyOneFileHasAreKept) {
  PackRecord blob = support::blob_record("w", support::corpus_tensors(4, 5));
  PackRecord bare = blob;
  bare.tensors.clear();
  pack_as("bare", {bare});
  pack_as("told", {blob});
  ASSERT_TRUE(is_ok(merge({"bare", "told"}, "out")));
  EXPECT_TRUE(read_file(out_) == read_file(folder_.file("told")));
  blob.tensors.pop_back();
  pack_as("less", {blob});
  EXPECT_TRUE(fails_with(merge({"told", "less"}, "x"), ErrorCode::kExists));
}

TEST_F(Merge, WhatTheFilesSayOfTheModelIsJoinedAndWhatCannotBeIsTold) {
  PackOptions first;
  first.model_name = "first";
  first.options = {{"threads", "4", "cpu"}, {"mode", "fast", "cpu"}};
  PackOptions second;
  second.model_name = "second";
  second.options = {{"threads", "8", "cpu"}, {"vtcm", "8", "htp"}};
  pack_as("a", {support::binary_record("x", "v2", support::pattern(700, 1))}, first);
  pack_as("b", {support::binary_record("y", "v3", support::pattern(700, 2))}, second);
  const auto report = merge({"a", "b"}, "out");
  ASSERT_TRUE(is_ok(report));
  ASSERT_EQ(report.value().pack.warnings.size(), 2U) << "the name, and one option";
  EXPECT_EQ(report.value().pack.warnings[0],
            folder_.file("b") + ": its model is called \"second\", the new file's \"first\"");
  const auto named = merge({"a", "b"}, "named", {.model_name = "both", .seal = true});
  ASSERT_TRUE(is_ok(named));
  EXPECT_TRUE(Opened(read_file(folder_.file("named"))).toc.header.sealed);
  EXPECT_EQ(named.value().pack.warnings.size(), 1U) << "a given name needs no warning about two names";
  EXPECT_EQ(named.value().generation, 1U);
  const ContainerDescription said = description_of(folder_.file("named"));
  EXPECT_EQ(said.name, "both");
  EXPECT_EQ(texts_of(said.options), (std::set<std::string>{"cpu threads 4", "cpu mode fast", "htp vtcm 8"}));
}

TEST_F(Merge, OptionsOfOneKeyBelongToTheirOwners) {
  PackOptions first;
  first.options = {{"mode", "fast", "cpu"}};
  PackOptions second;
  second.options = {{"mode", "small", "htp"}};
  pack_as("a", {support::binary_record("x", "v2", support::pattern(700, 1))}, first);
  pack_as("b", {support::binary_record("y", "v3", support::pattern(700, 2))}, second);
  const auto report = merge({"a", "b"}, "out");
  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(report.value().pack.warnings.empty());
  EXPECT_EQ(texts_of(description_of(out_).options), (std::set<std::string>{"cpu mode fast", "htp mode small"}));
}

TEST_F(Merge, TheLargestExtentAndGranuleOfTheFilesAreKept) {
  PackOptions large;
  large.extent_log2 = 21;
  PackOptions coarse;
  coarse.granule_log2 = 16;
  pack_as("large", {support::binary_record("x", "v2", support::pattern(700, 1))}, large);
  pack_as("coarse", {support::binary_record("y", "v3", support::pattern(700, 2))}, coarse);
  for (const auto& [a, b] : {std::pair{"large", "coarse"}, {"coarse", "large"}}) {
    ASSERT_TRUE(is_ok(merge({a, b}, "out", {.overwrite = true})));
    const Opened opened(read_file(out_));
    EXPECT_EQ(opened.toc.header.extent_log2, 21);
    EXPECT_EQ(opened.toc.header.granule_log2, 16);
    expect_whole(out_);
  }
}

TEST_F(Merge, BytesAreSharedIfAFileSharesThemUnlessSaidOtherwise) {
  std::vector<PackRecord> chips = chip_records();
  pack_as("shared", {chips[0], chips[1]}, sharing_by(Sharing::kBytes));
  pack_as("plain", {support::binary_record("y", "v3", support::pattern(700, 2))});
  const auto recipes = [](const std::string& path) {
    const Opened opened(read_file(path));
    return std::any_of(opened.toc.toc.records.begin(), opened.toc.toc.records.end(),
                       [](const RecordInfo& record) { return record.recipe; });
  };
  ASSERT_TRUE(recipes(folder_.file("shared")));
  for (const auto& [a, b] : {std::pair{"shared", "plain"}, {"plain", "shared"}}) {
    ASSERT_TRUE(is_ok(merge({a, b}, "out", {.overwrite = true})));
    EXPECT_TRUE(recipes(out_));
    ASSERT_TRUE(is_ok(merge({a, b}, "out", {.overwrite = true, .sharing = Sharing::kPages})));
    EXPECT_FALSE(recipes(out_));
  }
}

TEST_F(Merge, NotesOfBothFilesAreKeptAndTheFullerDescription) {
  const auto note = [](const std::string& value) { return EvidenceNote{"phone", "bench", "ms", value, "2026-11-22"}; };
  PackRecord bare = support::binary_record("x", "v2", support::pattern(700, 1));
  PackRecord told = bare;
  bare.description.notes = {note("1"), note("2")};
  told.description.notes = {note("2"), note("3")};
  told.description.producer = "compiler 3";
  pack_as("bare", {bare});
  pack_as("told", {told});
  for (const auto& [a, b] : {std::pair{"bare", "told"}, {"told", "bare"}}) {
    ASSERT_TRUE(is_ok(merge({a, b}, "out", {.overwrite = true})));
    const ContainerDescription said = description_of(out_);
    const RecordDescription* const of_x = said.find(id_of(Opened(read_file(out_)), "x"));
    ASSERT_NE(of_x, nullptr);
    EXPECT_EQ(of_x->producer, "compiler 3");
    EXPECT_EQ(of_x->notes.size(), 3U);
  }
}

template <typename Fill>
TargetFilter filter(const Fill& fill) {
  TargetFilter made;
  fill(made);
  return made;
}

TEST(TargetFilters, FitWhatHasAllThatTheyName) {
  SelectionKey key;
  key.group = "g";
  key.backend = "cpu";
  key.arch = "aarch64";
  key.features = "dotprod,i8mm";
  key.qnn_soc = 57;
  key.vtcm_mb = 8;
  key.sdk = {2, 44, 0, 0};
  EXPECT_TRUE(fits_target(TargetFilter(), key));
  EXPECT_TRUE(fits_target(filter([](TargetFilter& f) {
                            f.backend = "cpu";
                            f.arch = "aarch64";
                            f.features = {"i8mm"};
                          }),
                          key));
  EXPECT_TRUE(fits_target(filter([](TargetFilter& f) {
                            f.group = "g";
                            f.qnn_soc = 57;
                            f.vtcm_mb = 8;
                            f.sdk = {2, 44, 0, 0};
                          }),
                          key));
  EXPECT_FALSE(fits_target(filter([](TargetFilter& f) { f.backend = "htp"; }), key));
  EXPECT_FALSE(fits_target(filter([](TargetFilter& f) { f.features = {"i8m"}; }), key));
  EXPECT_FALSE(fits_target(filter([](TargetFilter& f) { f.features = {"i8mm", "sve"}; }), key));
  EXPECT_FALSE(fits_target(filter([](TargetFilter& f) { f.qnn_soc = 43; }), key));
  EXPECT_FALSE(fits_target(filter([](TargetFilter& f) { f.vtcm_mb = 4; }), key));
  EXPECT_FALSE(fits_target(filter([](TargetFilter& f) { f.sdk = {2, 45, 0, 0}; }), key));
  EXPECT_FALSE(fits_target(filter([](TargetFilter& f) { f.unit = "decode"; }), key));
  EXPECT_FALSE(fits_target(filter([](TargetFilter& f) { f.generic = true; }), key));
}

TEST_F(Rewrite, WhatIsLeftOfSomeTargetsIsWhatTheyNeed) {
  std::vector<PackRecord> records = support::cpu_records();
  PackRecord other = support::plain_record(RecordType::kWeightBlob, "other weights", support::pattern(9'000, 40));
  other.key.group = "model";
  records.push_back(other);
  records[0].weights = {"other weights"};  // cpu-x86-64-v2 alone
  PackRecord free = support::plain_record(RecordType::kWeightBlob, "free weights", support::pattern(9'001, 41));
  records.push_back(free);
  records.push_back(support::plain_record(RecordType::kSourceModel, "source", support::pattern(50, 42)));
  PackRecord of_target = support::plain_record(RecordType::kOpaque, "v2 notes", support::pattern(60, 43));
  of_target.key.backend = "cpu";
  of_target.key.arch = "x86-64-v2";
  records.push_back(of_target);
  pack_as("in", records);
  const Opened opened(read_file(in_));
  const auto left_for = [&](const std::string& arch) {
    std::vector<std::string> names;
    for (const std::uint32_t id : records_left(opened.toc.toc.records, [&](const RecordInfo& record) {
           return fits_target(filter([&](TargetFilter& f) { f.arch = arch; }), record.key);
         })) {
      names.emplace_back(opened.toc.toc.find(id)->name);
    }
    std::sort(names.begin(), names.end());
    std::erase(names, "description");
    std::erase(names, "weights.tensors");
    return names;
  };
  EXPECT_EQ(left_for("x86-64-v2"),
            (std::vector<std::string>{"cpu-x86-64-v2", "free weights", "other weights", "source", "v2 notes"}));
  EXPECT_EQ(left_for("aarch64"), (std::vector<std::string>{"cpu-aarch64", "free weights", "source", "weights"}));
}

TEST_F(Rewrite, FiltersSayWhatStaysAndWhichOfThemFitsNothing) {
  pack_as("in", support::cpu_records());
  const Opened opened(read_file(in_));
  const auto& records = opened.toc.toc.records;
  const auto of_arch = [](const char* arch) { return filter([&](TargetFilter& f) { f.arch = arch; }); };
  const std::vector<TargetFilter> two = {of_arch("x86-64-v2"), of_arch("aarch64")};
  const auto left = records_left(records, two);
  ASSERT_TRUE(is_ok(left));
  EXPECT_EQ(left.value(), records_left(records, [](const RecordInfo& record) {
              return record.key.arch == "x86-64-v2" || record.key.arch == "aarch64";
            }));
  EXPECT_LT(left.value().size(), records.size());

  TargetFilter misspelt = of_arch("x86-64-v9");
  misspelt.backend = "cpu";
  misspelt.features = {"z", "a"};
  misspelt.group = "chat";
  misspelt.unit = "decode";
  const auto none = records_left(records, std::vector<TargetFilter>{of_arch("aarch64"), misspelt});
  ASSERT_TRUE(fails_with(none, ErrorCode::kNoMatch));
  EXPECT_NE(
      none.error().message.find("for cpu x86-64-v9+a+z in group chat of unit decode; there are some for cpu aarch64+"),
      std::string::npos)
      << none.error().message;
  EXPECT_TRUE(fails_with(records_left(records, std::vector<TargetFilter>()), ErrorCode::kInvalidArgument));
  pack_as("cold", {support::plain_record(RecordType::kOpaque, "only", support::pattern(90, 1))});
  const Opened cold(read_file(folder_.file("cold")));
  EXPECT_TRUE(fails_with(records_left(cold.toc.toc.records, two), ErrorCode::kNoMatch));
}

TEST_F(Rewrite, AllButSomeRecordsAreThoseThatMayGoByThemselves) {
  pack_as("in", support::cpu_records());
  const Opened opened(read_file(in_));
  const auto& records = opened.toc.toc.records;
  const std::vector<std::uint32_t> gone = {id_of(opened, "cpu-x86-64-v3"), id_of(opened, "cpu-x86-64-v3")};
  const auto left = records_without(records, gone);
  ASSERT_TRUE(is_ok(left));
  EXPECT_EQ(left.value(), all_but(opened, "cpu-x86-64-v3"));
  EXPECT_TRUE(fails_with(records_without(records, std::vector<std::uint32_t>{99}), ErrorCode::kNotFound));
  for (const char* bound : {"description", "weights.tensors"}) {
    const auto refused = records_without(records, std::vector<std::uint32_t>{id_of(opened, bound)});
    ASSERT_TRUE(fails_with(refused, ErrorCode::kInvalidArgument)) << bound;
    EXPECT_EQ(refused.error().where.record_id, id_of(opened, bound));
  }
}

}  // namespace rewrite_test
}  // namespace fatctx::container
