// Updates for partial files: a device with some records of OLD gets those of NEW, without a source to ask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "container/read/leaves.h"
#include "container/update/container_file.h"
#include "fatctx/container.h"
#include "fatctx/extract.h"
#include "fatctx/fetch_plan.h"
#include "fatctx/keys.h"
#include "fatctx/signature.h"
#include "fatctx/update.h"
#include "support/forged_update.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace partial_update_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::pattern;
using support::read_file;
using support::write_file;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kLeaf = 65'536;

// Pieces of which some move and some change from version to version. Chips have most of them in common.
Bytes code(std::uint32_t version, std::uint32_t chip) {
  Bytes bytes(256 * version, std::byte{0x11});
  for (std::uint32_t piece = 0; piece < 30; ++piece) {
    // In version 2 chip 2 has pieces that only chip 1 had before: copies from there serve nobody who has chip 2 alone.
    const bool of_chip = piece % 5 == chip || (version == 2 && chip == 2 && piece % 5 == 1);
    const std::uint32_t of = piece % 5 == 1 && of_chip ? 1 : (of_chip ? chip : 0);
    Bytes part = pattern(20'000 + 256 * (piece % 7), 1000 * of + piece);
    if (piece % 4 == 0) part[700] = static_cast<std::byte>(version);
    bytes.insert(bytes.end(), part.begin(), part.end());
    if (piece % 9 == 3) bytes.insert(bytes.end(), 256 * version, static_cast<std::byte>(version));
  }
  return bytes;
}

PackRecord binary(const std::string& name, const std::string& arch, Bytes bytes, const std::string& weights) {
  PackRecord record = support::binary_record(name, arch, std::move(bytes));
  if (!weights.empty()) record.weights = {weights};
  return record;
}

// Two chips with weights of their own, one without, and a note that belongs to none. The weights of the second one get
// another name.
std::vector<PackRecord> records_of(std::uint32_t version) {
  const std::string renamed = version == 1 ? "weights" : "new weights";
  std::vector<PackRecord> records = {binary("one", "v68", code(version, 1), "weights 1"),
                                     binary("two", "v73", code(version, 2), renamed),
                                     binary("three", "v75", code(version, 3), "")};
  for (const auto& [name, seed] : {std::pair<std::string, std::uint32_t>{"weights 1", 5}, {renamed, 6}}) {
    Bytes bytes = pattern(300'000, 10 * seed);
    bytes[100'000] = static_cast<std::byte>(version);
    PackRecord weights = support::plain_record(RecordType::kWeightBlob, name, std::move(bytes));
    weights.key.group = "model";
    weights.tensors = {
        {.name = "w", .dtype = DType::kF32, .shape = {100, 50}, .offset_in_blob = 64, .size_bytes = 20'000}};
    records.push_back(std::move(weights));
  }
  records.push_back(support::plain_record(RecordType::kOpaque, "note", pattern(90'000, 77 + version)));
  return records;
}

class PartialUpdate : public ::testing::Test {
 protected:
  void SetUp() override { pack_both({}); }

  void pack_both(const PackOptions& options) const {
    for (std::uint32_t version : {1U, 2U}) {
      PackOptions one = options;
      one.overwrite = true;
      ASSERT_TRUE(is_ok(support::pack(records_of(version), version == 1 ? old_ : new_, one)));
    }
  }
  static void pack(std::vector<PackRecord> records, const std::string& path) {
    PackOptions options;
    options.overwrite = true;
    ASSERT_TRUE(is_ok(support::pack(std::move(records), path, options)));
  }
  Result<UpdateReport> make(bool for_partial = true) const {
    return make_update(std::vector{old_}, new_, update_, {.overwrite = true, .for_partial = for_partial});
  }
  // Writes a file that has only these records of `whole`, with what they need.
  void make_part_of(const std::string& whole, const std::vector<std::string>& records) const {
    const Bytes bytes = read_file(whole);
    FetchOptions options;
    options.records = records;
    options.overwrite = true;
    FetchPlan plan = FetchPlan::begin(part_, bytes.size(), std::move(options)).value();
    while (plan.stage() != FetchStage::kDone) {
      for (const ByteRange& range : plan.wanted()) {
        ASSERT_TRUE(is_ok(plan.take(range.offset, ByteView(bytes).subspan(static_cast<std::size_t>(range.offset),
                                                                          static_cast<std::size_t>(range.size)))));
      }
    }
    ASSERT_TRUE(is_ok(plan.publish()));
  }
  Result<ApplyReport> apply(ApplyUpdateOptions options = {}) const {
    options.overwrite = true;
    return apply_update(update_, std::vector{part_}, out_, options);
  }
  static Bytes bytes_of(const std::string& path, const std::string& record) {
    const Container container = Container::open(path).value();
    Bytes bytes;
    const std::span<const RecordInfo> records = container.records().value();
    for (const RecordInfo& info : records) {
      if (info.name != record) continue;
      EXPECT_TRUE(is_ok(stream_record(container, info.id, [&](ByteView piece) -> Status {
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        return Done{};
      })));
    }
    EXPECT_FALSE(bytes.empty()) << record;
    return bytes;
  }
  void expect_no_wrong_byte() const {
    const Bytes got = read_file(out_);
    const Bytes whole = read_file(new_);
    ASSERT_EQ(got.size(), whole.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(got[i] == whole[i] || got[i] == std::byte{}) << i;
  }
  void expect_part_comes_out(const std::string& record, const std::vector<std::string>& others) const {
    const auto applied = apply();
    ASSERT_TRUE(is_ok(applied)) << record;
    EXPECT_GT(applied.value().absent_bytes, 0U);
    EXPECT_THAT(applied.value().records, Contains(record));
    EXPECT_TRUE(bytes_of(out_, record) == bytes_of(new_, record)) << record;
    for (const std::string& other : others) EXPECT_TRUE(bytes_of(out_, other) == bytes_of(new_, other)) << other;
    expect_no_wrong_byte();
  }

  const support::TempDir folder_;
  const std::string old_ = folder_.file("old.fatctx");
  const std::string new_ = folder_.file("new.fatctx");
  const std::string update_ = folder_.file("update");
  const std::string part_ = folder_.file("part.fatctx");
  const std::string out_ = folder_.file("out.fatctx");
};

TEST_F(PartialUpdate, EachDeviceGetsItsPartWhateverTheSharing) {
  for (const Sharing sharing : {Sharing::kOff, Sharing::kPages, Sharing::kBytes}) {
    PackOptions options;
    options.sharing = sharing;
    pack_both(options);
    ASSERT_TRUE(is_ok(make()));
    make_part_of(old_, {"one"});
    expect_part_comes_out("one", {"weights 1"});
    make_part_of(old_, {"two"});
    expect_part_comes_out("two", {"new weights"});
    make_part_of(old_, {"three"});
    expect_part_comes_out("three", {});
  }
}

TEST_F(PartialUpdate, CopiesMostWhateverTheSharing) {
  for (const Sharing sharing : {Sharing::kOff, Sharing::kPages, Sharing::kBytes}) {
    PackOptions options;
    options.sharing = sharing;
    pack_both(options);
    const UpdateReport report = make().value();
    EXPECT_TRUE(report.for_partial);
    EXPECT_EQ(report.hash_bytes, 0U) << "they are in the update";
    EXPECT_LT(report.literal_bytes, report.made.file_size * 2 / 5);
    EXPECT_TRUE(read_update(update_).value().for_partial);
  }
}

TEST_F(PartialUpdate, AWholeOldFileMakesAllOfNew) {
  ASSERT_TRUE(is_ok(make()));
  std::filesystem::copy_file(old_, part_);
  const auto applied = apply();
  ASSERT_TRUE(is_ok(applied));
  EXPECT_EQ(applied.value().absent_bytes, 0U);
  EXPECT_TRUE(applied.value().records.empty());
  EXPECT_TRUE(read_file(out_) == read_file(new_));
}

TEST_F(PartialUpdate, ZerosServeWhereTheOldFileHasNoHoles) {
  ASSERT_TRUE(is_ok(make()));
  make_part_of(old_, {"one"});
  write_file(part_, read_file(part_));
  expect_part_comes_out("one", {});
}

TEST_F(PartialUpdate, ADamagedOldFileIsNamed) {
  ASSERT_TRUE(is_ok(make()));
  make_part_of(old_, {"one"});
  Bytes bytes = read_file(part_);
  const container::Toc toc = container::ContainerFile::open(part_).value().opened.toc;
  for (const RecordInfo& info : toc.records) {
    if (info.name != "weights 1") continue;
    const container::SegmentLeaves last = container::leaves_under(toc, info).back();
    bytes[static_cast<std::size_t>(toc.segments[last.segment].offset + (last.range.end - 1) * kLeaf)] ^= std::byte{1};
  }
  write_file(part_, bytes);
  const auto applied = apply();
  EXPECT_TRUE(fails_with(applied, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_THAT(applied.error().message, HasSubstr("part.fatctx: record \"weights 1\""));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(PartialUpdate, AnUpdateForWholeFilesNamesTheRemedy) {
  ASSERT_TRUE(is_ok(make(false)));
  make_part_of(old_, {"one"});
  const auto applied = apply();
  EXPECT_TRUE(fails_with(applied, ErrorCode::kNotPresent, "F26"));
  EXPECT_THAT(applied.error().message, HasSubstr("`fatctx delta --for-partial` makes a part"));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(PartialUpdate, ARecordOfAnotherNameMayLackBytesAndIsNotCounted) {
  std::vector<PackRecord> records = records_of(1);
  records[1].name = "zwei";
  pack(std::move(records), old_);
  ASSERT_TRUE(is_ok(make()));
  make_part_of(old_, {"three"});
  expect_part_comes_out("three", {});
  EXPECT_THAT(apply().value().records, Not(Contains("two")));
}

// After the copy of "one", the bytes that would follow in OLD are those of "two", and "three" resembles them.
TEST_F(PartialUpdate, NoLiteralIsADifferenceToBytesOfAnotherRecord) {
  constexpr std::size_t kSize = 2 * kLeaf;
  PackOptions apart;
  apart.overwrite = true;
  apart.sharing = Sharing::kOff;
  const Bytes two = pattern(kSize, 20);
  Bytes like_two = two;
  for (std::size_t i = 0; i < kSize; i += 3) like_two[i] ^= std::byte{1};
  ASSERT_TRUE(is_ok(support::pack({binary("one", "v68", pattern(kSize, 10), ""), binary("two", "v73", two, ""),
                                   binary("three", "v75", pattern(kSize, 30), "")},
                                  old_, apart)));
  ASSERT_TRUE(is_ok(support::pack({binary("one", "v68", pattern(kSize, 10), ""), binary("three", "v73", like_two, ""),
                                   binary("two", "v75", two, "")},
                                  new_, apart)));
  ASSERT_TRUE(is_ok(make(false)));
  const auto plain = std::filesystem::file_size(update_);
  EXPECT_LT(plain, kSize / 2) << "an update for whole files is to use differences";
  ASSERT_TRUE(is_ok(make()));
  make_part_of(old_, {"three"});
  expect_part_comes_out("three", {});
}

TEST_F(PartialUpdate, NothingIsPublishedIfNoRecordHasAnOldName) {
  std::vector<PackRecord> records;
  records.push_back(support::plain_record(RecordType::kOpaque, "another name", bytes_of(old_, "note")));
  pack(std::move(records), new_);
  ASSERT_TRUE(is_ok(make()));
  make_part_of(old_, {"one"});
  const auto applied = apply();
  EXPECT_TRUE(fails_with(applied, ErrorCode::kNotPresent));
  EXPECT_THAT(applied.error().message, HasSubstr("none of the new file's records"));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(PartialUpdate, ASignatureHoldsForThePart) {
  const KeyFiles keys = make_keys(folder_.file("key")).value();
  ASSERT_TRUE(is_ok(sign_container(new_, keys.secret_path, folder_.file("signed.fatctx"))));
  std::filesystem::rename(folder_.file("signed.fatctx"), new_);
  ASSERT_TRUE(is_ok(make()));
  make_part_of(old_, {"two"});
  const auto applied = apply({.trusted_keys = {read_public_key(keys.public_path).value()}});
  ASSERT_TRUE(is_ok(applied));
  EXPECT_TRUE(applied.value().signature_verified);
  OpenOptions options;
  options.trusted_keys = {read_public_key(keys.public_path).value()};
  const Container container = Container::open(out_, options).value();
  EXPECT_TRUE(bytes_of(out_, "two") == bytes_of(new_, "two"));
}

// An update whose steps make `bytes`, and leave a leaf of the record "three" to bytes of OLD that are not here.
class LyingPartialUpdate : public PartialUpdate {
 protected:
  void SetUp() override {
    PackOptions apart;
    apart.sharing = Sharing::kOff;
    pack_both(apart);
    make_part_of(old_, {"one"});
  }
  static ByteRange first_leaf_of(const std::string& path, const std::string& record) {
    const container::Toc toc = container::ContainerFile::open(path).value().opened.toc;
    for (const RecordInfo& info : toc.records) {
      if (info.name != record) continue;
      const container::SegmentLeaves leaves = container::leaves_under(toc, info).front();
      return {toc.segments[leaves.segment].offset + leaves.range.first * kLeaf, kLeaf};
    }
    return {};
  }
  // The leaf is the first one of the record `copied`.
  Result<ApplyReport> apply_forged(const Bytes& bytes, const std::string& copied = "three") const {
    using container::UpdateStep;
    const ByteRange leaf = first_leaf_of(new_, copied);
    const std::uint64_t behind = leaf.offset + leaf.size;
    const std::vector<UpdateStep> steps = {
        {.kind = UpdateStep::Kind::kLiteral, .target = 0, .size = leaf.offset},
        {.target = leaf.offset, .size = leaf.size, .source = 1, .offset = first_leaf_of(old_, "three").offset},
        {.kind = UpdateStep::Kind::kLiteral, .target = behind, .size = bytes.size() - behind}};
    const auto name_of = [](const std::string& path) { return container::ContainerFile::open(path).value().name(); };
    // The encoder sees another OLD, so that no literal is a difference to it.
    Bytes other(read_file(old_).size(), std::byte{0x5a});
    write_file(update_, support::forged_update(name_of(new_), bytes, name_of(old_), std::move(other), steps,
                                               container::kForPartial));
    return apply();
  }
};

TEST_F(LyingPartialUpdate, WithoutALieThePartComesOut) {
  const auto applied = apply_forged(read_file(new_));
  ASSERT_TRUE(is_ok(applied));
  EXPECT_EQ(applied.value().absent_bytes, kLeaf);
  EXPECT_THAT(applied.value().records, Not(Contains("three")));
  EXPECT_THAT(applied.value().records, Contains("two")) << "the update holds it";
}

TEST_F(LyingPartialUpdate, ARecordThatTheDeviceHasComesOutWholeOrNothingDoes) {
  const auto refused = apply_forged(read_file(new_), "one");
  ASSERT_TRUE(fails_with(refused, ErrorCode::kNotPresent));
  EXPECT_THAT(refused.error().message, HasSubstr("\"one\""));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(LyingPartialUpdate, AWrongLeafThatTheDeviceCouldMakeIsRefused) {
  Bytes bytes = read_file(new_);
  bytes[static_cast<std::size_t>(first_leaf_of(new_, "two").offset) + 5] ^= std::byte{1};
  EXPECT_TRUE(fails_with(apply_forged(bytes), ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(LyingPartialUpdate, LeafHashesThatTheTableDoesNotNameAreRefused) {
  Bytes bytes = read_file(new_);
  const container::Toc toc = container::ContainerFile::open(new_).value().opened.toc;
  const auto hashes = container::stored_leaf_hashes(toc);
  bytes[static_cast<std::size_t>(hashes.back().in_file.offset)] ^= std::byte{1};
  EXPECT_TRUE(fails_with(apply_forged(bytes), ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(LyingPartialUpdate, AFlagThatNobodyKnowsIsMalformed) {
  ASSERT_TRUE(is_ok(make()));
  Bytes bytes = read_file(update_);
  bytes[12] = std::byte{3};
  support::rehash_update(bytes);
  write_file(update_, bytes);
  EXPECT_TRUE(fails_with(apply(), ErrorCode::kMalformed));
}

TEST_F(PartialUpdate, AChangedUpdateIsRefusedOrMakesNoWrongByte) {
  ASSERT_TRUE(is_ok(make()));
  make_part_of(old_, {"one"});
  const Bytes right = read_file(update_);
  std::mt19937 random(4);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same changes each time
  int made = 0;
  for (int i = 0; i < 150; ++i) {
    Bytes bytes = right;
    const std::size_t at = i % 3 == 0 ? 128 + random() % 100 : 128 + random() % (bytes.size() - 128);
    bytes[at] ^= static_cast<std::byte>(1U << random() % 8);
    support::rehash_update(bytes);
    write_file(update_, bytes);
    std::filesystem::remove(out_);
    if (apply().ok()) {
      ++made;
      expect_no_wrong_byte();
    } else {
      EXPECT_FALSE(std::filesystem::exists(out_)) << i;
    }
  }
  EXPECT_LT(made, 150);
}

TEST_F(PartialUpdate, AFetchFollowsTheUpdateToo) {
  ASSERT_TRUE(is_ok(make()));
  make_part_of(old_, {"one"});
  const Bytes source = read_file(new_);
  FetchOptions options;
  options.records = {"one"};
  options.seeds = {part_};
  FetchPlan plan = FetchPlan::begin(out_, source.size(), std::move(options)).value();
  while (plan.stage() != FetchStage::kPayload) {
    for (const ByteRange& range : plan.wanted()) {
      ASSERT_TRUE(is_ok(plan.take(range.offset, ByteView(source).subspan(static_cast<std::size_t>(range.offset),
                                                                         static_cast<std::size_t>(range.size)))));
    }
  }
  ASSERT_TRUE(is_ok(plan.use_update(update_)));
  EXPECT_EQ(plan.stage(), FetchStage::kDone) << plan.missing_bytes();
}

// Leaves are checked after the last report of progress, so that even a request in that one is in time.
TEST_F(PartialUpdate, ACallerStopsItAtEveryMoment) {
  ASSERT_TRUE(is_ok(make()));
  make_part_of(old_, {"one"});
  std::uint64_t moments = 1;
  for (std::uint64_t moment = 0; moment < moments; ++moment) {
    std::atomic<bool> stop = false;
    std::uint64_t seen = 0;
    const auto watch = [&](std::uint64_t, std::uint64_t) {
      if (seen++ == moment) stop = true;
      moments = std::max(moments, seen);
    };
    EXPECT_TRUE(fails_with(apply({.progress = watch, .cancel = &stop}), ErrorCode::kCancelled)) << moment;
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
}

}  // namespace partial_update_test
}  // namespace fatctx
