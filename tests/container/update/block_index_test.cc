// Block indexes: what the writer writes, and what a reader refuses.
#include "container/update/block_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "container/format/hash.h"
#include "container/update/container_file.h"
#include "fatctx/block_index.h"
#include "fatctx/fetch_plan.h"
#include "support/memory_file.h"
#include "support/no_regular_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace block_index_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::pattern;
using ::testing::HasSubstr;

// A container of about 300 KB, and its index.
class BlockIndexes : public ::testing::Test {
 protected:
  void SetUp() override {
    support::write_file(path_, support::packed_bytes({support::binary_record("one", "v68", pattern(300'123, 7))}));
    const auto report = make_block_index(path_, index_);
    ASSERT_TRUE(is_ok(report));
    report_ = report.value();
  }
  // Changes bytes of the index, and makes its hash right again.
  Bytes changed(const std::function<void(BlockIndexHeader&)>& change) const {
    Bytes bytes = support::read_file(index_);
    BlockIndexHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    change(header);
    std::memcpy(bytes.data(), &header, sizeof(header));
    const DiskHash hash = hash128(ByteView(bytes).first(bytes.size() - sizeof(DiskHash))).bytes;
    std::copy(hash.begin(), hash.end(), bytes.end() - sizeof(DiskHash));
    return bytes;
  }
  static Result<BlockIndex> opened(Bytes bytes) {
    return BlockIndex::open(support::MemoryFile(std::move(bytes)), "an index");
  }

  const support::TempDir folder_;
  const std::string path_ = folder_.file("m.fatctx");
  const std::string index_ = folder_.file("m.fatctx.blocks");
  BlockIndexReport report_;
};

TEST_F(BlockIndexes, HaveTheHashesOfEveryWholeBlock) {
  const Bytes file = support::read_file(path_);
  const auto index = BlockIndex::open(index_);
  ASSERT_TRUE(is_ok(index));
  ASSERT_EQ(index.value().keys().size(), file.size() / 1024);
  EXPECT_EQ(report_.file_size, file.size());
  EXPECT_EQ(report_.block_bytes, 1024U);
  EXPECT_EQ(report_.index_bytes, 64 + 8 * (file.size() / 1024) + 16);
  EXPECT_EQ(report_.index_bytes, support::read_file(index_).size());
  for (std::size_t i = 0; i < index.value().keys().size(); ++i) {
    const ByteView block = ByteView(file).subspan(i * 1024, 1024);
    std::uint32_t sum = 0;
    std::uint32_t power = 1;
    for (std::size_t at = block.size(); at-- > 0; power *= 0x9e3779b1) {
      sum += std::to_integer<std::uint32_t>(block[at]) * power;
    }
    ASSERT_EQ(static_cast<std::uint32_t>(index.value().keys()[i].rolling), sum) << i;
    ASSERT_EQ(static_cast<std::uint32_t>(index.value().keys()[i].xxh3), hash32(block)) << i;
  }
}

TEST_F(BlockIndexes, HashesMoveOnByAByte) {
  const Bytes bytes = pattern(3000, 5);
  for (const std::size_t size : {std::size_t{1024}, std::size_t{2048}}) {
    const RollingHash rolling(size);
    std::uint32_t hash = RollingHash::of(ByteView(bytes).first(size));
    for (std::size_t at = 0; at + size < bytes.size(); ++at) {
      hash = rolling.next(hash, bytes[at], bytes[at + size]);
      ASSERT_EQ(hash, RollingHash::of(ByteView(bytes).subspan(at + 1, size))) << at;
    }
  }
}

TEST_F(BlockIndexes, OfLargeFilesHaveLargerBlocks) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  EXPECT_EQ(block_log2_for(1), 10U);
  EXPECT_EQ(block_log2_for(4 * kGiB), 10U);
  EXPECT_EQ(block_log2_for(4 * kGiB + 1024), 11U);
  EXPECT_EQ(block_log2_for(256 * kGiB), kMostBlockLog2);
  EXPECT_GT(block_log2_for(257 * kGiB), kMostBlockLog2);
}

TEST_F(BlockIndexes, AreRefusedWithTheReason) {
  const Bytes good = support::read_file(index_);
  ASSERT_TRUE(is_ok(opened(good)));
  EXPECT_TRUE(is_ok(opened(changed([](BlockIndexHeader&) {}))));

  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{63}, std::size_t{64},
                                 good.size() - 17, good.size() - 1}) {
    Bytes cut = good;
    cut.resize(size);
    const auto refused = opened(cut);
    ASSERT_TRUE(fails_with(refused, ErrorCode::kTruncated)) << size;
    EXPECT_THAT(refused.error().message, HasSubstr(size < 64 ? "ends in its header" : "and should have"));
  }
  EXPECT_TRUE(fails_with(opened({}), ErrorCode::kBadMagic));
  EXPECT_TRUE(fails_with(opened(pattern(500, 3)), ErrorCode::kBadMagic));
  Bytes longer = good;
  longer.push_back({});
  EXPECT_TRUE(fails_with(opened(longer), ErrorCode::kTrailingData));
  for (const std::size_t at : {std::size_t{20}, std::size_t{64}, good.size() - 17, good.size() - 1}) {
    Bytes flipped = good;
    flipped[at] ^= std::byte{4};
    EXPECT_TRUE(fails_with(opened(flipped), ErrorCode::kChecksumMismatch)) << at;
  }
  const auto refused = [&](ErrorCode code, const std::function<void(BlockIndexHeader&)>& change) {
    return fails_with(opened(changed(change)), code);
  };
  EXPECT_TRUE(refused(ErrorCode::kUnsupported, [](BlockIndexHeader& header) { header.version = 2; }));
  EXPECT_TRUE(refused(ErrorCode::kMalformed, [](BlockIndexHeader& header) { header.reserved = 1; }));
  EXPECT_TRUE(refused(ErrorCode::kMalformed, [](BlockIndexHeader& header) { header.block_log2 = 9; }));
  EXPECT_TRUE(refused(ErrorCode::kMalformed, [](BlockIndexHeader& header) { header.block_log2 = 11; }));
  EXPECT_TRUE(refused(ErrorCode::kLimitExceeded, [](BlockIndexHeader& header) { header.of.size = 0; }));
  EXPECT_TRUE(refused(ErrorCode::kLimitExceeded, [](BlockIndexHeader& header) { header.of.size = kMaxFileSize + 1; }));
  EXPECT_TRUE(refused(ErrorCode::kLimitExceeded,
                      [](BlockIndexHeader& header) { header.of.size = (kMostBlocks + 1) << kMostBlockLog2; }));
  EXPECT_TRUE(fails_with(BlockIndex::open(folder_.file("none")), ErrorCode::kNotFound));
  for (const std::string& path : {folder_.path(), std::string(support::kNoRegularFile)}) {
    EXPECT_TRUE(fails_with(BlockIndex::open(path), ErrorCode::kNotRegularFile)) << path;
  }
}

TEST_F(BlockIndexes, AreMadeOfWholeContainersOnly) {
  const std::string target = folder_.file("other.blocks");
  Bytes damaged = support::read_file(path_);
  damaged[damaged.size() / 2] ^= std::byte{1};
  support::write_file(folder_.file("damaged"), damaged);
  EXPECT_TRUE(fails_with(make_block_index(folder_.file("damaged"), target), ErrorCode::kChecksumMismatch, "F26"));
  Bytes without_hashes = support::read_file(path_);
  const Toc toc = ContainerFile::open(path_).value().opened.toc;
  without_hashes[static_cast<std::size_t>(stored_leaf_hashes(toc).front().in_file.offset)] ^= std::byte{1};
  support::write_file(folder_.file("damaged"), without_hashes);
  EXPECT_TRUE(fails_with(make_block_index(folder_.file("damaged"), target), ErrorCode::kChecksumMismatch, "F26"));
  Bytes partial = support::read_file(path_);
  std::fill_n(partial.begin() + static_cast<std::ptrdiff_t>(partial.size() / 2 / kLeafSize * kLeafSize), kLeafSize,
              std::byte{});
  support::write_file(folder_.file("partial"), partial);
  EXPECT_TRUE(fails_with(make_block_index(folder_.file("partial"), target), ErrorCode::kNotPresent, "F26"));
  EXPECT_TRUE(fails_with(make_block_index(folder_.file("none"), target), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(make_block_index(path_, index_), ErrorCode::kExists));
  const std::atomic<bool> cancel = true;
  EXPECT_TRUE(fails_with(make_block_index(path_, target, {.cancel = &cancel}), ErrorCode::kCancelled));
  EXPECT_FALSE(std::filesystem::exists(target)) << "nothing was published";
  EXPECT_TRUE(is_ok(make_block_index(path_, index_, {.overwrite = true})));
}

TEST_F(BlockIndexes, AreOfFilesThatNobodyWritesToMeanwhile) {
  const std::string target = folder_.file("other.blocks");
  bool written = false;
  const auto append = [&](std::uint64_t, std::uint64_t) {
    if (!std::exchange(written, true)) std::ofstream(path_, std::ios::binary | std::ios::app) << 'x';
  };
  const auto made = make_block_index(path_, target, {.progress = append});
  ASSERT_TRUE(fails_with(made, ErrorCode::kChanged));
  EXPECT_EQ(made.error().message, path_ + ": it was written to meanwhile; make the index again");
  EXPECT_FALSE(std::filesystem::exists(target));
}

}  // namespace block_index_test
}  // namespace fatctx::container
