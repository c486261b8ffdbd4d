// Appended records whose bytes the file, or another new record, stores already: as a whole in each of its forms, and in
// pieces of one new record by another.
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "container/check/verify.h"
#include "container/read/opened_file.h"
#include "container/read/stored_rows.h"
#include "fatctx/signature.h"
#include "support/appended.h"
#include "support/hostile_file.h"
#include "support/result_matchers.h"
#include "support/signed_file.h"

namespace fatctx::container {
namespace append_present_test {

using support::append;
using support::Appended;
using support::Bytes;
using support::fails_with;
using support::is_ok;

RecordEntry row_of(const Opened& opened, const std::string& name) {
  return StoredRows(opened.toc.toc).record(opened.toc.toc.index_of(opened.record(name)));
}

DiskSha256 sha256_of(const Opened& opened, const std::string& name) {
  return StoredRows(opened.toc.toc).record_sha256(opened.toc.toc.index_of(opened.record(name)));
}

void expect_same_storage(const Bytes& file, const std::string& there, const std::string& added) {
  const Opened opened(file);
  const RecordEntry before = row_of(opened, there);
  const RecordEntry now = row_of(opened, added);
  EXPECT_EQ(now.codec, before.codec);
  EXPECT_EQ(now.flags, before.flags);
  EXPECT_EQ(now.alignment_log2, before.alignment_log2);
  EXPECT_EQ(now.slice_count, before.slice_count);
  EXPECT_EQ(now.logical_size, before.logical_size);
  EXPECT_EQ(now.stored_size, before.stored_size);
  EXPECT_EQ(now.logical_hash, before.logical_hash);
  EXPECT_EQ(sha256_of(opened, added), sha256_of(opened, there));
  EXPECT_EQ(opened.record(added).file_offset, opened.record(there).file_offset);
  EXPECT_EQ(opened.bytes_of(added).value(), opened.bytes_of(there).value());
  EXPECT_TRUE(verify_container(opened.file, {}).value().findings.empty());
}

Bytes joined(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(AppendPresent, ACompressedRecordIsFoundAsItIsStored) {
  const auto cold = [](const std::string& name) {
    PackRecord record = support::plain_record(RecordType::kSourceModel, name, Bytes(200'000, std::byte{7}));
    record.codec = Codec::kLz4;
    return record;
  };
  const Appended done = append(support::packed_bytes({cold("old")}), {cold("new")});
  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(done.report.value().shared_bytes, Opened(done.bytes).record("old").stored_bytes);
  EXPECT_EQ(row_of(Opened(done.bytes), "old").codec, kCodecLz4Frame);
  expect_same_storage(done.bytes, "old", "new");
}

TEST(AppendPresent, ARecipeIsFoundAsItIsStored) {
  const Bytes a = support::pattern(150'000, 31);
  const Bytes b = support::pattern(150'000, 32);
  const Bytes turned = joined({support::pattern(41, 33), b, a});
  PackOptions options;
  options.sharing = Sharing::kBytes;
  const Bytes before = support::packed_bytes(
      {support::binary_record("one", "v73", joined({a, b})), support::binary_record("two", "v75", turned)}, options);
  ASSERT_TRUE(Opened(before).record("two").recipe || Opened(before).record("one").recipe);
  const std::string recipe = Opened(before).record("two").recipe ? "two" : "one";
  const Bytes wanted = recipe == "two" ? turned : joined({a, b});

  const Appended done = append(before, {support::binary_record("three", "v79", wanted)});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(done.report.value().shared_bytes, wanted.size());
  EXPECT_TRUE(Opened(done.bytes).record("three").recipe);
  expect_same_storage(done.bytes, recipe, "three");
}

TEST(AppendPresent, ARecipeWithACompressedProgramIsFoundAsItIsStored) {
  const Bytes a = support::pattern(150'000, 31);
  const Bytes b = support::pattern(150'000, 32);
  const Bytes one = joined({support::pattern(100'000, 30), a, b});
  const Bytes two = joined({joined(std::vector<Bytes>(20, support::pattern(100, 33))), b, a});
  PackOptions options;
  options.sharing = Sharing::kBytes;
  const Bytes before = support::packed_bytes(
      {support::binary_record("one", "v73", one), support::binary_record("two", "v75", two)}, options);
  ASSERT_TRUE(Opened(before).record("two").recipe);
  ASSERT_EQ(row_of(Opened(before), "two").codec, kCodecLz4Frame);

  const Appended done = append(before, {support::binary_record("three", "v79", two)});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_TRUE(Opened(done.bytes).record("three").recipe);
  expect_same_storage(done.bytes, "two", "three");
}

TEST(AppendPresent, ARecordWithTheHashOfAnotherIsNotTakenForIt) {
  Bytes old = support::pattern(3 * kLeafSize, 6);
  support::make_forgeable(old);
  Bytes forged = old;
  support::forge(forged);
  ASSERT_EQ(hash128(forged), hash128(old));

  const Appended done = append(support::packed_bytes({support::binary_record("old", "v73", old)}),
                               {support::binary_record("new", "v75", forged)});

  ASSERT_TRUE(is_ok(done.report));
  const Opened opened(done.bytes);
  EXPECT_EQ(opened.bytes_of("old").value(), old);
  EXPECT_EQ(opened.bytes_of("new").value(), forged);
  EXPECT_EQ(done.report.value().shared_bytes, 2 * kLeafSize);
}

// The last leaf of a segment is short. Its hash is forged here: it is that of the leaf with the padding behind it.
TEST(AppendPresent, NothingBehindASegmentIsShared) {
  const Bytes tail = support::pattern(900, 8);
  const Bytes padding(kLeafSize - tail.size());
  const Bytes whole = joined({tail, padding, support::pattern(500, 9)});
  support::HostileFile file(
      support::packed_bytes({support::binary_record("old", "v73", joined({support::pattern(kLeafSize, 7), tail}))}));
  for (SegmentEntry& segment : file.segments) {
    if (segment.kind != static_cast<std::uint16_t>(SegmentKind::kPayload)) continue;
    SegmentEntry& leaves = file.segments.at(segment.leaves_segment);
    file.in_payload = [&segment, &leaves, &whole](Bytes& bytes) {
      const auto hashes = std::span(bytes).subspan(static_cast<std::size_t>(leaves.offset), 2 * sizeof(DiskHash));
      const Hash128 lie = hash128(ByteView(whole).first(kLeafSize));
      std::memcpy(hashes.data() + sizeof(DiskHash), &lie, sizeof lie);
      segment.leaves_hash = hash128(hashes).bytes;
      leaves.leaves_hash = segment.leaves_hash;
    };
  }
  ASSERT_TRUE(file.in_payload);

  const Appended done = append(file.bytes(), {support::binary_record("new", "v75", whole)});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(Opened(done.bytes).bytes_of("new").value(), whole);
  EXPECT_EQ(done.report.value().shared_bytes, 0U);
}

TEST(AppendPresent, ARunOfLeavesGoesOnToTheLastOneOfItsSegment) {
  const Bytes a = support::pattern(kLeafSize, 1);
  const Bytes c = support::pattern(kLeafSize, 2);
  PackOptions options;
  options.sharing = Sharing::kOff;
  const Bytes before = support::packed_bytes({support::binary_record("old", "v73", joined({c, a, c}))}, options);

  const Appended done = append(before, {support::binary_record("new", "v75", joined({a, c}))});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(Opened(done.bytes).record("new").slice_count, 1U);
  EXPECT_EQ(Opened(done.bytes).record("new").file_offset, Opened(before).record("old").file_offset + kLeafSize);
}

TEST(AppendPresent, TheLeavesOfPackedRecordsStay) {
  std::vector<PackRecord> records;
  for (std::uint32_t i = 0; i < 8; ++i) {
    records.push_back(support::plain_record(RecordType::kOpaque, std::to_string(i), support::pattern(20'000, i + 1)));
  }
  const Bytes before = support::packed_bytes(std::move(records));
  ASSERT_EQ(Opened(before).toc.toc.segments.size(), 2U) << "packed, leaves";

  const Appended done = append(before, {support::plain_record(RecordType::kOpaque, "new", support::pattern(90, 9))});

  ASSERT_TRUE(is_ok(done.report));
  const Opened opened(done.bytes);
  EXPECT_EQ(opened.bytes_of("3").value(), support::pattern(20'000, 4));
  EXPECT_TRUE(verify_container(opened.file, {}).value().findings.empty());
}

TEST(AppendPresent, ARecordOfASignedFileKeepsItsSha256) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const std::string path = folder.file("m.fatctx");
  support::write_file(path, support::packed_bytes({support::binary_record("old", "v73", support::pattern(90'000, 3))}));
  ASSERT_TRUE(is_ok(sign_container(path, keys.secret_path, path)));

  const Appended done =
      append(support::read_file(path), {support::binary_record("new", "v75", support::pattern(90'000, 3))});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_NE(sha256_of(Opened(done.bytes), "old"), DiskSha256{});
  expect_same_storage(done.bytes, "old", "new");
}

TEST(AppendPresent, PiecesOfOneNewRecordServeTheNext) {
  // Leaves by letter. The file has a b c; the first new record stores x y and z of its own around b.
  const auto leaf = [](char letter) { return support::pattern(kLeafSize, static_cast<std::uint32_t>(letter)); };
  const auto of = [&](const std::string& letters, std::size_t tail = 0) {
    std::vector<Bytes> parts;
    for (const char letter : letters) parts.push_back(leaf(letter));
    parts.push_back(support::pattern(tail, 5));
    return joined(parts);
  };
  const Bytes before = support::packed_bytes({support::binary_record("file", "v68", of("abc"))});
  for (const auto& [second, own] : {std::pair<std::string, std::uint64_t>{"zbw", 1},
                                    {"xyz", 0},
                                    {"yz", 0},
                                    {"wxyzbc", 1},
                                    {"zyx", 0},
                                    {"xbz", 0},
                                    {"abxy", 0},
                                    {"wxwywz", 3}}) {
    const Appended done = append(before, {support::binary_record("first", "v73", of("xybz", 100)),
                                          support::binary_record("second", "v75", of(second))});
    ASSERT_TRUE(is_ok(done.report)) << second;
    const Opened opened(done.bytes);
    EXPECT_EQ(opened.bytes_of("first").value(), of("xybz", 100)) << second;
    EXPECT_EQ(opened.bytes_of("second").value(), of(second)) << second;
    EXPECT_EQ(done.report.value().shared_bytes, kLeafSize + opened.record("second").size_bytes - own * kLeafSize)
        << second;
    EXPECT_TRUE(verify_container(opened.file, {}).value().findings.empty()) << second;
  }
}

}  // namespace append_present_test
}  // namespace fatctx::container
