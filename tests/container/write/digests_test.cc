// The SHA-256 digests that a pack adds on request: of each record, of each leaf, and of nothing else.
#include "container/write/digests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "container/check/verify.h"
#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "container/read/leaves.h"
#include "container/read/opened_file.h"
#include "container/read/stored_rows.h"
#include "container/write/copy_payload.h"
#include "container/write/plan.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace digests_test {

using support::Bytes;
using support::fails_with;
using support::FileCall;
using support::is_ok;
using support::MemoryFile;

// Returns records of every form: with many leaves, of three reads and a short last leaf; of one leaf; empty; equal to
// another; compressed; and two that share bytes at other offsets, so that one may become a recipe.
std::vector<PackRecord> records() {
  std::vector<PackRecord> all;
  all.push_back(support::binary_record("large", "v68", support::pattern((std::size_t{2} << 20) + 70'001, 1)));
  all.push_back(support::binary_record("one leaf", "v69", support::pattern(4'321, 2)));
  all.push_back(support::plain_record(RecordType::kOpaque, "small", support::pattern(333, 3)));
  all.push_back(support::plain_record(RecordType::kOpaque, "empty", {}));
  all.push_back(support::binary_record("equal", "v70", support::pattern(4'321, 2)));
  all.push_back(support::plain_record(RecordType::kSourceModel, "cold", Bytes(200'000, std::byte{7})));
  all.back().codec = Codec::kLz4;
  Bytes shifted = support::pattern(41, 4);
  const Bytes& large = all.front().source.bytes;
  shifted.insert(shifted.end(), large.begin() + 100'000, large.end());
  all.push_back(support::binary_record("shifted", "v73", std::move(shifted)));
  return all;
}

Bytes with_digests(PackOptions options = {}) {
  options.sha256 = true;
  return support::packed_bytes(records(), std::move(options));
}

ByteView part_of(const Bytes& file, std::uint64_t offset, std::uint64_t size) {
  return ByteView(file).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

std::size_t digest_segments(const Opened& opened) {
  const StoredRows rows(opened.toc.toc);
  std::size_t count = 0;
  for (std::size_t i = 0; i < opened.toc.toc.segments.size(); ++i) {
    count += rows.segment(i).hash_algorithm == kHashSha256 ? 1U : 0U;
  }
  return count;
}

void expect_digests_of_records(const Opened& opened) {
  const StoredRows rows(opened.toc.toc);
  for (const PackRecord& given : records()) {
    EXPECT_EQ(rows.record_sha256(opened.toc.toc.index_of(opened.record(given.name))), sha256(given.source.bytes))
        << given.name;
  }
}

void expect_digests_of_leaves(const Opened& opened, const Bytes& file) {
  const Toc& toc = opened.toc.toc;
  const StoredRows rows(toc);
  std::size_t leaves = 0;
  for (std::size_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!segment.holds_payload()) {
      EXPECT_EQ(rows.segment_digest(i).leaves_sha256, DiskSha256{}) << "segment " << i << " has no leaves";
      EXPECT_EQ(hash128(part_of(file, segment.offset, segment.size)), segment.leaves_hash) << "segment " << i;
      continue;
    }
    const auto stored = read_leaves(opened.file, toc, segment, LeafHash::kSha256);
    ASSERT_TRUE(is_ok(stored)) << "segment " << i;
    ASSERT_EQ(stored.value().sha256.size(), segment.leaf_count());
    for (std::uint64_t leaf = 0; leaf < segment.leaf_count(); ++leaf, ++leaves) {
      const std::uint64_t at = leaf * kLeafSize;
      EXPECT_EQ(stored.value().sha256[static_cast<std::size_t>(leaf)],
                sha256(part_of(file, segment.offset + at, std::min<std::uint64_t>(kLeafSize, segment.size - at))))
          << "leaf " << leaf << " of segment " << i;
    }
  }
  EXPECT_GE(leaves, 34U) << "or a segment of several reads is missing";
}

TEST(Digests, AreThoseOfEveryRecordAndLeaf) {
  for (const Sharing sharing : {Sharing::kOff, Sharing::kPages, Sharing::kBytes}) {
    for (const std::uint8_t extent : {kSmallExtentLog2, kExtentLog2}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(sharing)) + " " + std::to_string(extent));
      PackOptions options;
      options.sharing = sharing;
      options.extent_log2 = extent;
      const Bytes file = with_digests(std::move(options));
      const Opened opened(file);

      ASSERT_TRUE(StoredRows(opened.toc.toc).has_digests());
      EXPECT_EQ(digest_segments(opened), 1U);
      expect_digests_of_records(opened);
      expect_digests_of_leaves(opened, file);
      EXPECT_TRUE(verify_container(opened.file, {}).value().findings.empty());
    }
  }
}

TEST(Digests, AreOnlyThereForThoseWhoAsk) {
  const Opened without(support::packed_bytes(records()));
  EXPECT_FALSE(StoredRows(without.toc.toc).has_digests());
  EXPECT_EQ(digest_segments(without), 0U);
  const Opened with(with_digests());
  for (const PackRecord& given : records()) {
    EXPECT_EQ(with.record(given.name).hash, without.record(given.name).hash) << given.name;
  }
}

// A file whose segments have one leaf each needs no segment of leaves.
TEST(Digests, OfSingleLeavesAreInTheTable) {
  PackOptions options;
  options.sha256 = true;
  const Bytes file = support::packed_bytes({support::binary_record("one", "v68", support::pattern(5'000, 6))}, options);
  const Opened opened(file);
  EXPECT_EQ(digest_segments(opened), 0U);
  const StoredRows rows(opened.toc.toc);
  ASSERT_TRUE(rows.has_digests());
  for (std::size_t i = 0; i < opened.toc.toc.segments.size(); ++i) {
    const Segment& segment = opened.toc.toc.segments[i];
    EXPECT_EQ(rows.segment_digest(i).leaves_sha256, sha256(part_of(file, segment.offset, segment.size)));
  }
}

TEST(Digests, StayWhenTheFileIsWrittenAnewUnlessItIsSigned) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  support::write_file(path, with_digests());

  ASSERT_TRUE(is_ok(rewrite_container(path, folder.file("again.fatctx"), {})));

  const Bytes again = support::read_file(folder.file("again.fatctx"));
  const Opened opened(again);
  ASSERT_TRUE(StoredRows(opened.toc.toc).has_digests());
  expect_digests_of_records(opened);
  expect_digests_of_leaves(opened, again);

  const KeyFiles keys = make_keys(folder.file("key")).value();
  ASSERT_TRUE(is_ok(sign_container(path, keys.secret_path, path)));
  ASSERT_TRUE(is_ok(rewrite_container(path, folder.file("unsigned.fatctx"), {})));
  EXPECT_FALSE(StoredRows(Opened(support::read_file(folder.file("unsigned.fatctx"))).toc.toc).has_digests());
}

// A plan whose payload is in the file, as add_digests() expects it.
struct Copied {
  Copied() {
    PackOptions options;
    options.sha256 = true;
    options.sharing = Sharing::kOff;
    std::vector<PackRecord> two = {support::binary_record("large", "v68", support::pattern(1'200'000, 8)),
                                   support::binary_record("small", "v69", support::pattern(5'000, 9))};
    plan = make_plan(std::move(two), {}, options, progress).value();
    file.bytes().resize(static_cast<std::size_t>(plan.committed_end));
    EXPECT_TRUE(is_ok(copy_payload(plan, file, progress)));
  }
  Progress callback;
  WorkProgress progress{callback};
  Plan plan;
  MemoryFile file;
};

TEST(Digests, AreNotMadeUpWhenTheFileFails) {
  for (const FileCall call : {FileCall::kRead, FileCall::kWrite}) {
    std::uint64_t failed = 0;
    for (bool met = true; met; ++failed) {
      Copied copied;
      const std::uint64_t before = copied.file.calls(call);
      copied.file.fail(call, before + failed, false);

      const Status added = add_digests(copied.plan, copied.file, {}, copied.progress);

      met = copied.file.calls(call) > before + failed;
      EXPECT_EQ(added.ok(), !met) << failed;
      if (met) {
        EXPECT_TRUE(fails_with(added, ErrorCode::kIo)) << failed;
      }
    }
    EXPECT_GE(failed, call == FileCall::kRead ? 6U : 2U);
  }
}

// A file that sets a flag at one of its reads.
class CancellingFile final : public mapping::OsFile {
 public:
  CancellingFile(MemoryFile& file, std::uint64_t at_read, std::atomic<bool>& cancel)
      : file_(file), at_read_(file.calls(FileCall::kRead) + at_read), cancel_(cancel) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    if (file_.calls(FileCall::kRead) == at_read_) cancel_ = true;
    return file_.read_at(offset, buffer);
  }
  Status write_at(std::uint64_t offset, ByteView bytes) override { return file_.write_at(offset, bytes); }
  Status allocate(std::uint64_t size) override { return file_.allocate(size); }
  Status sync() override { return file_.sync(); }
  Result<mapping::FileIdentity> identity() const override { return file_.identity(); }
  int descriptor() const noexcept override { return -1; }

 private:
  MemoryFile& file_;
  std::uint64_t at_read_;
  std::atomic<bool>& cancel_;
};

TEST(Digests, AreCancelledWithinAFewReads) {
  for (const bool by_options : {true, false}) {  // by the flag of the options, or that of the work
    std::uint64_t reads = 0;
    for (bool met = true; met; ++reads) {
      Copied copied;
      std::atomic<bool> cancel = false;
      CancellingFile file(copied.file, reads, cancel);
      const std::uint64_t before = copied.file.calls(FileCall::kRead);
      PackOptions options;
      if (by_options) options.cancel = &cancel;
      WorkProgress progress(copied.callback, by_options ? nullptr : &cancel);

      const Status added = add_digests(copied.plan, file, options, progress);

      met = cancel;
      if (!met) continue;
      EXPECT_TRUE(fails_with(added, ErrorCode::kCancelled)) << reads;
      // The read that was under way, and those of one record's leaf hashes and first bytes.
      EXPECT_LE(copied.file.calls(FileCall::kRead), before + reads + 3) << "it went on";
    }
    EXPECT_GE(reads, 6U);
  }
}

}  // namespace digests_test
}  // namespace fatctx::container
