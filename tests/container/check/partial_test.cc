// Files that have only a part of their payload: zeros that the leaf hashes contradict. Everything that is present is
// used as usual, everything else is refused as not present, and never as damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "container/check/absent_leaves.h"
#include "container/check/verify.h"
#include "container/read/opened_file.h"
#include "mapping/buffer_file.h"
#include "support/appended.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace partial_test {

using support::Bytes;
using support::is_ok;
using support::pattern;
using support::plain_record;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;

Bytes packed(std::vector<PackRecord> records, Sharing sharing, bool sha256 = false) {
  PackOptions options;
  options.sharing = sharing;
  options.sha256 = sha256;
  return support::packed_bytes(std::move(records), std::move(options));
}

// One file of each way in which a record is stored: alone, packed with others, compressed, by pages, as a recipe.
std::vector<std::pair<std::string, Bytes>> files() {
  std::vector<PackRecord> plain = support::cpu_records();
  plain.push_back(plain_record(RecordType::kOpaque, "large", pattern(1'300'000, 50)));
  PackRecord cold = plain_record(RecordType::kOpaque, "cold", Bytes(400'000, std::byte{7}));
  for (std::size_t i = 0; i < cold.source.bytes.size(); i += 50) cold.source.bytes[i] = static_cast<std::byte>(i * i);
  cold.codec = Codec::kLz4;
  plain.push_back(std::move(cold));
  const Bytes body = pattern(700'000, 60);
  Bytes moved = pattern(333, 61);
  moved.insert(moved.end(), body.begin(), body.end());
  Bytes paged = body;
  std::copy_n(pattern(5'000, 62).begin(), 5'000, paged.begin() + 100'000);
  const auto shared = [&](const Bytes& second) {
    return std::vector{support::binary_record("a", "x86-64-v3", body), support::binary_record("b", "aarch64", second)};
  };
  return {{"plain", packed(plain, Sharing::kPages)},
          {"SHA-256", packed(plain, Sharing::kOff, true)},
          {"pages", packed(shared(paged), Sharing::kPages)},
          {"bytes", packed(shared(moved), Sharing::kBytes)}};
}

void zero(Bytes& file, ByteRange range) {
  std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(range.offset), range.size, std::byte{0});
}

// Returns the places that may be absent by themselves: leaves, and parts of the leaf hashes.
std::vector<ByteRange> parts_of(const Toc& toc) {
  std::vector<ByteRange> parts;
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!segment.holds_payload()) continue;
    for (std::uint64_t leaf = 0; leaf < segment.leaf_count(); ++leaf) {
      const std::uint64_t first = leaf << kLeafLog2;
      parts.push_back({segment.offset + first, std::min(kLeafSize, segment.size - first)});
    }
    const auto hashes = places_of_leaf_hashes(toc, i, LeafHash::kXxh3, {0, segment.leaf_count()});
    parts.insert(parts.end(), hashes.begin(), hashes.end());
  }
  return parts;
}

std::set<ErrorCode> codes_of(const VerifyReport& report) {
  std::set<ErrorCode> codes;
  for (const VerifyFinding& finding : report.findings) codes.insert(finding.error.code);
  return codes;
}

VerifyReport verified(const Bytes& bytes) { return verify_container(mapping::BufferFile(bytes, nullptr), {}).value(); }

AbsentLeaves absent_in(const Opened& opened) {
  return AbsentLeaves::find(opened.file, opened.toc.toc, LookFor::kZeros, [](std::uint64_t) { return Status(Done{}); })
      .value();
}

std::uint64_t sum_of(const std::vector<ByteRange>& ranges) {
  std::uint64_t sum = 0;
  for (const ByteRange& range : ranges) sum += range.size;
  return sum;
}

// Compares a file with parts of it gone with the whole file.
void expect_partial(const Bytes& whole, const std::vector<ByteRange>& gone) {
  Bytes partial = whole;
  for (const ByteRange& part : gone) zero(partial, part);
  const Opened before(whole);
  const Opened opened(partial);
  const AbsentLeaves absent = absent_in(opened);
  // Zeros under absent hashes cannot be told from bytes that should be zero, so at least the missing ones are found.
  EXPECT_EQ(sum_of(absent.ranges()), sum_of(gone));
  const VerifyReport report = verified(partial);
  if (gone.empty()) {
    EXPECT_THAT(report.findings, IsEmpty());
  } else {
    EXPECT_THAT(codes_of(report), ::testing::ElementsAre(ErrorCode::kNotPresent));
    EXPECT_EQ(report.absent_bytes, sum_of(gone));
  }
  for (const RecordInfo& record : opened.toc.toc.records) {
    const std::vector<ByteRange> lacking = absent.ranges_of(record);
    EXPECT_EQ(absent.bytes_of(record), sum_of(lacking)) << record.name;
    EXPECT_LE(absent.bytes_of(record), absent.needed_bytes_of(record)) << record.name;
    const auto bytes = opened.bytes_of(record.name);
    const VerifyReport one = opened.verify_one(record.name).value();
    if (bytes.ok()) {
      EXPECT_EQ(bytes.value(), before.bytes_of(record.name).value()) << record.name;
      EXPECT_TRUE(lacking.empty() || record.recipe) << record.name << ": only a recipe may leave out what it needs";
      EXPECT_THAT(one.findings, IsEmpty()) << record.name;
    } else {
      EXPECT_EQ(bytes.error().code, ErrorCode::kNotPresent) << to_text(bytes.error());
      EXPECT_THAT(lacking, Not(IsEmpty())) << record.name;
      EXPECT_THAT(codes_of(one), Each(ErrorCode::kNotPresent)) << record.name;
      EXPECT_THAT(one.findings, Not(IsEmpty())) << record.name;
    }
  }
}

TEST(Partial, AnyPartMayBeAbsentAndTheRestIsUsed) {
  for (const auto& [name, whole] : files()) {
    SCOPED_TRACE(name);
    const Opened opened(whole);
    const std::vector<ByteRange> parts = parts_of(opened.toc.toc);
    expect_partial(whole, {});
    for (const ByteRange& part : parts) expect_partial(whole, {part});
    std::mt19937 random(27);
    for (int round = 0; round < 60; ++round) {
      std::vector<ByteRange> gone;
      for (const ByteRange& part : parts) {
        if (random() % 3 == 0) gone.push_back(part);
      }
      expect_partial(whole, gone);
    }
    expect_partial(whole, parts);
  }
}

TEST(Partial, TheFilesHaveEveryWayOfStoring) {
  std::set<std::string> ways;
  for (const auto& [name, whole] : files()) {
    const Opened opened(whole);
    for (const RecordInfo& record : opened.toc.toc.records) {
      ways.insert(record.recipe                 ? "recipe"
                  : record.codec == Codec::kLz4 ? "compressed"
                  : record.slice_count > 1      ? "slices"
                                                : "one slice");
    }
  }
  EXPECT_THAT(ways, ::testing::ElementsAre("compressed", "one slice", "recipe", "slices"));
}

TEST(Partial, ALeafThatIsMeantToBeZerosIsPresent) {
  const Bytes file = packed({plain_record(RecordType::kOpaque, "zeros", Bytes(200'000))}, Sharing::kOff);
  const Opened opened(file);
  EXPECT_TRUE(absent_in(opened).none());
  EXPECT_THAT(verified(file).findings, IsEmpty());
  EXPECT_EQ(opened.bytes_of("zeros").value(), Bytes(200'000));
}

TEST(Partial, DamageIsNoAbsence) {
  const Bytes whole = packed({plain_record(RecordType::kOpaque, "large", pattern(300'000, 5))}, Sharing::kOff);
  const Opened opened(whole);
  const std::uint64_t begin = opened.record("large").file_offset;
  Bytes file = whole;
  zero(file, {begin, kLeafSize - 1});  // one byte of the leaf is left
  EXPECT_THAT(codes_of(verified(file)), ::testing::ElementsAre(ErrorCode::kChecksumMismatch));
  EXPECT_TRUE(support::fails_with(Opened(file).bytes_of("large"), ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_TRUE(absent_in(Opened(file)).none());
  EXPECT_EQ(verified(file).absent_bytes, 0U);

  zero(file, {begin + 2 * kLeafSize, kLeafSize});
  EXPECT_THAT(codes_of(verified(file)), ::testing::ElementsAre(ErrorCode::kChecksumMismatch, ErrorCode::kNotPresent));
  EXPECT_EQ(verified(file).absent_bytes, kLeafSize);
}

TEST(Partial, LeafHashesAreDamagedOrAbsent) {
  const Bytes whole = packed({plain_record(RecordType::kOpaque, "large", pattern(300'000, 5))}, Sharing::kOff);
  const Opened opened(whole);
  const Toc& toc = opened.toc.toc;
  const auto segment = static_cast<std::uint32_t>(
      std::find_if(toc.segments.begin(), toc.segments.end(), [](const Segment& one) { return one.size == 300'000; }) -
      toc.segments.begin());
  const ByteRange hashes = places_of_leaf_hashes(toc, segment, LeafHash::kXxh3, {0, 1}).at(0);
  Bytes file = whole;
  zero(file, {hashes.offset, hashes.size - 1});
  EXPECT_THAT(codes_of(verified(file)), ::testing::ElementsAre(ErrorCode::kChecksumMismatch));
  zero(file, hashes);
  EXPECT_THAT(codes_of(verified(file)), ::testing::ElementsAre(ErrorCode::kNotPresent));
  const auto bytes = Opened(file).bytes_of("large");
  EXPECT_TRUE(support::fails_with(bytes, ErrorCode::kNotPresent, "F26"));
  EXPECT_THAT(bytes.error().message, ::testing::HasSubstr("the leaf hashes at bytes"));
}

TEST(Partial, AppendsGoOnWithoutTheAbsentBytes) {
  const Bytes large = pattern(300'000, 5);
  const Bytes whole = packed({plain_record(RecordType::kOpaque, "large", large)}, Sharing::kPages);
  const Opened opened(whole);
  Bytes file = whole;
  zero(file, {opened.record("large").file_offset, 300'000});
  const support::Appended appended = support::append(file, {plain_record(RecordType::kOpaque, "again", large)}, {});
  ASSERT_TRUE(is_ok(appended.report));
  const Opened after(appended.bytes);
  EXPECT_EQ(after.bytes_of("again").value(), large) << "stored anew: what is absent is never shared";
  EXPECT_TRUE(support::fails_with(after.bytes_of("large"), ErrorCode::kNotPresent, "F26"));
}

}  // namespace partial_test
}  // namespace fatctx::container
