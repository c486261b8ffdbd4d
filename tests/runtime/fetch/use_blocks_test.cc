// Fetches with a block index: bytes of old files at any offset, and an index with wrong keys.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "container/format/hash.h"
#include "container/update/block_index.h"
#include "fatctx/block_index.h"
#include "fatctx/container.h"
#include "fatctx/fetch_plan.h"
#include "fatctx/presence.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace use_blocks_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::pattern;
using support::read_file;

constexpr std::uint64_t kLeaf = 65'536;
constexpr std::uint64_t kMetadata = 4 * kLeaf;  // more than a header, two tables and leaf hashes

// `pieces` of 20,000 bytes and more, which move by multiples of 256 from version to version.
Bytes moved(std::uint32_t version, std::uint32_t seed, std::uint32_t pieces = 60) {
  Bytes bytes(256 * version, std::byte{0x11});
  for (std::uint32_t piece = 0; piece < pieces; ++piece) {
    const Bytes part = pattern(20'000 + 256 * (piece % 7), seed + piece);
    bytes.insert(bytes.end(), part.begin(), part.end());
    if (piece % 9 == 3) bytes.insert(bytes.end(), 256 * version, static_cast<std::byte>(version));
  }
  return bytes;
}

class UseBlocks : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::uint32_t version : {1U, 2U}) {
      support::write_file(version == 1 ? old_ : source_,
                          support::packed_bytes({support::binary_record("one", "v68", moved(version, 100)),
                                                 support::binary_record("two", "v73", moved(version, 500))}));
    }
    bytes_ = read_file(source_);
    ASSERT_TRUE(is_ok(make_block_index(source_, index_)));
  }

  FetchPlan begun(FetchOptions options = {.all = true}, bool with_old = true) const {
    if (with_old) options.seeds = {old_};
    options.overwrite = true;
    return FetchPlan::begin(target_, bytes_.size(), std::move(options)).value();
  }
  // Gives the plan all that it wants, up to a stage.
  void give(FetchPlan& plan, FetchStage until) const {
    for (int rounds = 0; plan.stage() < until; ++rounds) {
      ASSERT_LT(rounds, 10);
      for (const ByteRange& range : plan.wanted()) {
        ASSERT_TRUE(is_ok(plan.take(range.offset, ByteView(bytes_).subspan(static_cast<std::size_t>(range.offset),
                                                                           static_cast<std::size_t>(range.size)))));
      }
    }
  }
  void end(FetchPlan& plan) const {
    give(plan, FetchStage::kDone);
    ASSERT_TRUE(is_ok(plan.publish()));
  }
  // Writes the index with other keys.
  void change_keys(const std::function<void(std::span<container::BlockKey>)>& change) const {
    Bytes bytes = read_file(index_);
    std::vector<container::BlockKey> keys((bytes.size() - 80) / sizeof(container::BlockKey));
    std::memcpy(keys.data(), bytes.data() + 64, keys.size() * sizeof(container::BlockKey));
    change(keys);
    std::memcpy(bytes.data() + 64, keys.data(), keys.size() * sizeof(container::BlockKey));
    const auto hash = container::hash128(ByteView(bytes).first(bytes.size() - 16)).bytes;
    std::copy(hash.begin(), hash.end(), bytes.end() - 16);
    support::write_file(index_, bytes);
  }

  const support::TempDir folder_;
  const std::string old_ = folder_.file("old.fatctx");
  const std::string source_ = folder_.file("new.fatctx");
  const std::string index_ = folder_.file("new.fatctx.blocks");
  const std::string target_ = folder_.file("got.fatctx");
  Bytes bytes_;
};

TEST_F(UseBlocks, BytesThatMovedAreNotFetched) {
  FetchPlan leaves = begun();
  end(leaves);
  EXPECT_LT(leaves.report().reused_bytes, 3 * kLeaf) << "hardly a leaf is equal";

  FetchPlan plan = begun();
  give(plan, FetchStage::kPayload);
  const std::uint64_t missing = plan.missing_bytes();
  std::uint64_t looked_at = 0;
  ASSERT_TRUE(is_ok(plan.use_blocks(index_, [&](std::uint64_t done, std::uint64_t) { looked_at = done; })));
  EXPECT_GT(looked_at, 0U);
  EXPECT_LT(plan.missing_bytes(), missing / 15);
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
  EXPECT_GT(plan.report().reused_bytes, plan.report().needed_bytes / 15 * 14);
  EXPECT_LT(plan.report().fetched_bytes, bytes_.size() / 10 + kMetadata);
}

TEST_F(UseBlocks, ADevicesPartNeedsItsBlocksOnly) {
  FetchPlan plan = begun({.records = {"two"}});
  give(plan, FetchStage::kPayload);
  ASSERT_TRUE(is_ok(plan.use_blocks(index_)));
  end(plan);
  const Bytes got = read_file(target_);
  ASSERT_EQ(got.size(), bytes_.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(got[i] == bytes_[i] || got[i] == std::byte{}) << i;
  const std::uint64_t zeros = static_cast<std::uint64_t>(std::count(got.begin(), got.end(), std::byte{}));
  EXPECT_GT(zeros, moved(2, 100).size() - kLeaf) << "the other record is a hole";
  EXPECT_LT(plan.report().fetched_bytes, bytes_.size() / 20 + kMetadata);
}

TEST_F(UseBlocks, OneBlockServesManyPlaces) {
  Bytes repeated = pattern(292 * 1024, 3);
  for (int i = 0; i < 300; ++i) {
    const Bytes block = pattern(1024, 77);
    repeated.insert(repeated.end(), block.begin(), block.end());
  }
  Bytes once = pattern(5000, 4);
  const Bytes block = pattern(1024, 77);
  once.insert(once.end(), block.begin(), block.end());
  once.resize(2 * kLeaf);
  support::write_file(old_, support::packed_bytes({support::binary_record("one", "v68", once)}));
  PackOptions whole;
  whole.sharing = Sharing::kOff;
  bytes_ = support::packed_bytes({support::binary_record("one", "v68", repeated)}, whole);
  support::write_file(source_, bytes_);
  ASSERT_TRUE(is_ok(make_block_index(source_, index_, {.overwrite = true})));

  FetchPlan plan = begun();
  give(plan, FetchStage::kPayload);
  const std::uint64_t missing = plan.missing_bytes();
  ASSERT_TRUE(is_ok(plan.use_blocks(index_)));
  EXPECT_LE(plan.missing_bytes(), missing - 299 * 1024);
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
}

// The keys of all blocks are those of others: every leaf is guessed wrong, and comes from the source.
TEST_F(UseBlocks, AnIndexThatLiesCostsBytesAndNothingElse) {
  change_keys([](std::span<container::BlockKey> keys) { std::rotate(keys.begin(), keys.begin() + 17, keys.end()); });
  FetchPlan plan = begun();
  give(plan, FetchStage::kPayload);
  ASSERT_TRUE(is_ok(plan.use_blocks(index_)));
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
  EXPECT_LT(plan.report().reused_bytes, plan.report().needed_bytes / 10) << "wrong guesses do not count";
}

TEST_F(UseBlocks, OneWrongKeyCostsOneLeaf) {
  change_keys([](std::span<container::BlockKey> keys) { keys[keys.size() / 2] = keys[keys.size() / 3]; });
  FetchPlan plan = begun();
  give(plan, FetchStage::kPayload);
  ASSERT_TRUE(is_ok(plan.use_blocks(index_)));
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
  EXPECT_LT(plan.report().fetched_bytes, bytes_.size() / 10 + kMetadata + 2 * kLeaf);
}

TEST_F(UseBlocks, AFetchThatBreaksOffHasNoWrongBytes) {
  change_keys([](std::span<container::BlockKey> keys) { std::rotate(keys.begin(), keys.begin() + 1, keys.end()); });
  {
    FetchPlan plan = begun();
    give(plan, FetchStage::kPayload);
    ASSERT_TRUE(is_ok(plan.use_blocks(index_)));
    ASSERT_NE(plan.stage(), FetchStage::kDone);
  }
  FetchPlan again = begun({.records = {"two"}}, false);  // the rest must be a hole
  end(again);
  const Bytes got = read_file(target_);
  ASSERT_EQ(got.size(), bytes_.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(got[i] == bytes_[i] || got[i] == std::byte{}) << i;
}

// Zeros that were written pass for present where only holes are looked at.
TEST_F(UseBlocks, AFetchThatBreaksOffLeavesHolesOfWrongZeros) {
  Bytes zeros(10 * kLeaf);
  support::write_file(old_, support::packed_bytes({support::binary_record("one", "v68", zeros)}));
  const container::BlockKey key = container::key_of(ByteView(zeros).first(1024));
  change_keys([&](std::span<container::BlockKey> keys) {  // half of each leaf
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i % 64 < 32 ? key : keys[i];
  });
  {
    FetchPlan plan = begun();
    give(plan, FetchStage::kPayload);
    ASSERT_TRUE(is_ok(plan.use_blocks(index_)));
  }
  FetchPlan again = begun({.records = {"two"}}, false);
  end(again);
  const Container fetched = Container::open(target_).value();
  EXPECT_FALSE(find_absent(fetched, fetched.find("one").value().id).value().empty()) << "by its holes";
}

TEST_F(UseBlocks, ABadSourceIsToldFromABadGuess) {
  FetchPlan plan = begun();
  give(plan, FetchStage::kPayload);
  ASSERT_TRUE(is_ok(plan.use_blocks(index_)));
  const ByteRange hole = plan.wanted().front();
  const Bytes wrong(static_cast<std::size_t>(hole.size), std::byte{0xee});
  const std::uint64_t missing = plan.missing_bytes();
  ASSERT_TRUE(is_ok(plan.take(hole.offset, wrong))) << "the guess may be what is wrong";
  EXPECT_GT(plan.missing_bytes(), missing) << "the whole leaf is wanted again";
  const ByteRange leaf = plan.wanted().front();
  ASSERT_GE(leaf.size, kLeaf);
  const Bytes wrong_leaf(static_cast<std::size_t>(leaf.size), std::byte{0xee});
  EXPECT_TRUE(fails_with(plan.take(leaf.offset, wrong_leaf), ErrorCode::kChecksumMismatch, "F26"));
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
}

TEST_F(UseBlocks, IsRefusedWithTheReason) {
  FetchPlan plan = begun();
  EXPECT_TRUE(fails_with(plan.use_blocks(index_), ErrorCode::kOperationNotPermitted));
  give(plan, FetchStage::kPayload);
  const std::string other = folder_.file("old.blocks");
  ASSERT_TRUE(is_ok(make_block_index(old_, other)));
  EXPECT_TRUE(fails_with(plan.use_blocks(other), ErrorCode::kChanged));
  EXPECT_TRUE(fails_with(plan.use_blocks(old_), ErrorCode::kBadMagic));
  EXPECT_TRUE(fails_with(plan.use_blocks(folder_.file("none")), ErrorCode::kNotFound));
  const std::atomic<bool> cancel = true;
  EXPECT_TRUE(fails_with(plan.use_blocks(index_, {}, &cancel), ErrorCode::kCancelled));
  ASSERT_TRUE(is_ok(plan.use_blocks(index_))) << "a refused index changes nothing";
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
}

}  // namespace use_blocks_test
}  // namespace fatctx
