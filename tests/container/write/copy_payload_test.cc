// The copy of payload: inputs that change are found as soon as they are copied, leaves of large segments are written
// in calls of their own, and the progress counts the bytes that are read.
#include "container/write/copy_payload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "container/format/hash.h"
#include "container/write/plan.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace copy_payload_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

// A source that counts its reads. It may have another size once its last byte is read.
class Watched final : public ByteSource {
 public:
  Watched(Bytes bytes, bool changes) : bytes_(std::move(bytes)), changes_(changes) {}
  [[nodiscard]] std::string name() const override { return "watched"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return bytes_.size() + (changed_ ? 1U : 0U); }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    ++reads;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    if (changes_ && offset + out.size() == bytes_.size()) changed_ = true;
    return Done{};
  }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }

  mutable int reads = 0;

 private:
  const Bytes bytes_;
  const bool changes_;
  mutable bool changed_ = false;
};

PackRecord from(PackRecord record, std::shared_ptr<const ByteSource> source) {
  record.source.source = std::move(source);
  return record;
}

Plan planned(std::vector<PackRecord> records, WorkProgress& progress, Sharing sharing = Sharing::kOff) {
  for (PackRecord& record : records) record.key.variant = record.name;
  PackOptions options;
  options.sharing = sharing;
  return make_plan(std::move(records), {}, options, progress).value();
}

TEST(CopyPayload, EndsWithTheFirstLargeRecordThatHasChanged) {
  const Progress none;
  WorkProgress progress(none);
  const auto first = std::make_shared<const Watched>(support::pattern(5'000, 1), true);
  const auto second = std::make_shared<const Watched>(support::pattern(6'000, 2), false);
  Plan plan = planned(
      {from(support::binary_record("a", "v73", {}), first), from(support::binary_record("b", "v75", {}), second)},
      progress);
  support::MemoryFile file;
  EXPECT_TRUE(fails_with(copy_payload(plan, file, progress), ErrorCode::kChanged));
  EXPECT_GT(first->reads, 0);
  EXPECT_EQ(second->reads, 0) << "the result is known by then";
}

TEST(CopyPayload, FindsASmallRecordThatHasChanged) {
  const Progress none;
  WorkProgress progress(none);
  for (const bool changes : {false, true}) {
    const auto source = std::make_shared<const Watched>(support::pattern(500, 1), changes);
    Plan plan = planned({from(support::plain_record(RecordType::kOpaque, "small", {}), source)}, progress);
    support::MemoryFile file;
    const Status copied = copy_payload(plan, file, progress);
    EXPECT_EQ(copied.ok(), !changes);
    if (changes) {
      EXPECT_TRUE(fails_with(copied, ErrorCode::kChanged));
    }
  }
}

// A source without memory: all bytes of leaf number i are i modulo 251.
class ManyLeaves final : public ByteSource {
 public:
  explicit ManyLeaves(std::uint64_t size) : size_(size) {}
  [[nodiscard]] static std::byte value(std::uint64_t leaf) { return static_cast<std::byte>(leaf % 251); }
  [[nodiscard]] std::string name() const override { return "many leaves"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return size_; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const auto piece = out.first(static_cast<std::size_t>(std::min(kLeafSize - offset % kLeafSize, out.size())));
      std::fill(piece.begin(), piece.end(), value(offset / kLeafSize));
      offset += piece.size();
      out = out.subspan(piece.size());
    }
    return Done{};
  }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }

 private:
  const std::uint64_t size_;
};

// A file that keeps the bytes from one offset on.
class FileFrom final : public mapping::OsFile {
 public:
  explicit FileFrom(std::uint64_t first) : first_(first) {}
  Status read_at(std::uint64_t, std::span<std::byte>) const override { return Done{}; }
  Status write_at(std::uint64_t offset, ByteView bytes) override {
    if (offset < first_) return Done{};
    largest_write = std::max<std::uint64_t>(largest_write, bytes.size());
    const auto at = static_cast<std::size_t>(offset - first_);
    kept.resize(std::max(kept.size(), at + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), kept.begin() + static_cast<std::ptrdiff_t>(at));
    return Done{};
  }
  Status allocate(std::uint64_t) override { return Done{}; }
  Status sync() override { return Done{}; }
  Result<mapping::FileIdentity> identity() const override { return mapping::FileIdentity{}; }
  int descriptor() const noexcept override { return -1; }

  Bytes kept;
  std::uint64_t largest_write = 0;

 private:
  const std::uint64_t first_;
};

TEST(CopyPayload, LeavesOfALargeSegmentFollowEachOther) {
  constexpr std::uint64_t kLeaves = kLeavesPerPage + 5;
  constexpr std::uint64_t kLastLeaf = 100;
  const Progress none;
  WorkProgress progress(none);
  const auto source = std::make_shared<const ManyLeaves>((kLeaves - 1) * kLeafSize + kLastLeaf);
  Plan plan = planned({from(support::binary_record("a", "v73", {}), source)}, progress);
  const PlannedSegment& leaves = plan.segments.back();
  ASSERT_EQ(leaves.kind, SegmentKind::kLeaves);
  FileFrom file(leaves.offset);

  ASSERT_TRUE(is_ok(copy_payload(plan, file, progress)));

  Bytes expected;
  Bytes pages;
  const auto put = [](Bytes& to, const Hash128& hash) { to.insert(to.end(), hash.bytes.begin(), hash.bytes.end()); };
  Bytes leaf;
  for (std::uint64_t i = 0; i < 251; ++i) {
    leaf.assign(kLeafSize, ManyLeaves::value(i));
    put(expected, hash128(leaf));
  }
  while (expected.size() < (kLeaves - 1) * sizeof(Hash128)) {
    expected.push_back(expected[expected.size() - 251 * sizeof(Hash128)]);
  }
  leaf.assign(kLastLeaf, ManyLeaves::value(kLeaves - 1));
  put(expected, hash128(leaf));
  constexpr std::size_t kPage = std::size_t{kLeavesPerPage} * sizeof(Hash128);
  put(pages, hash128(ByteView(expected).first(kPage)));
  put(pages, hash128(ByteView(expected).subspan(kPage)));
  expected.insert(expected.end(), pages.begin(), pages.end());
  EXPECT_TRUE(file.kept == expected);
  EXPECT_EQ(file.kept.size(), leaves.size);
  EXPECT_EQ(leaves.leaves_hash, hash128(expected));
  EXPECT_LE(file.largest_write, kLeafSize) << "hashes are not collected without bound";
}

TEST(CopyPayload, ProgressCountsTheBytesThatAreRead) {
  const Bytes common = support::pattern(300'000, 1);
  Bytes paged = support::pattern(8'192, 2);
  paged.insert(paged.end(), common.begin(), common.end());
  Bytes moved = support::pattern(10'041, 3);
  moved.insert(moved.end(), common.begin(), common.begin() + 200'000);
  for (const Sharing sharing : {Sharing::kOff, Sharing::kPages, Sharing::kBytes}) {
    std::vector<PackRecord> records = {support::binary_record("a", "v73", common),
                                       support::binary_record("b", "v75", paged),
                                       support::binary_record("c", "v79", moved),
                                       support::plain_record(RecordType::kOpaque, "small", support::pattern(700, 4)),
                                       support::plain_record(RecordType::kSourceModel, "cold", Bytes(90'000))};
    records.back().codec = Codec::kLz4;
    std::uint64_t total = 0;
    const Progress callback = [&](std::uint64_t, std::uint64_t of) { total = of; };
    WorkProgress progress(callback);
    Plan plan = planned(std::move(records), progress, sharing);
    support::MemoryFile file;
    ASSERT_TRUE(is_ok(copy_payload(plan, file, progress)));
    EXPECT_EQ(progress.done_bytes(), total) << static_cast<int>(sharing);
    const bool one_is_cold = std::any_of(plan.records.begin(), plan.records.end(),
                                         [](const PlannedRecord& record) { return record.codec != Codec::kNone; });
    EXPECT_TRUE(one_is_cold);
  }
}

}  // namespace copy_payload_test
}  // namespace fatctx::container
