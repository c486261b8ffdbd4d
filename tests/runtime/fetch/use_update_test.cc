// Fetches with an update: old files that are whole, partial or not there, and updates that lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "container/update/container_file.h"
#include "fatctx/extract.h"
#include "fatctx/fetch_plan.h"
#include "fatctx/update.h"
#include "support/forged_update.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace use_update_test {

using container::UpdateStep;
using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::pattern;
using support::read_file;
using support::write_file;
using ::testing::HasSubstr;

constexpr std::uint64_t kLeaf = 65'536;
constexpr std::uint64_t kMetadata = 4 * kLeaf;  // more than a header, two tables and leaf hashes

// Pieces that move by multiples of 256 from version to version, each with a small change.
Bytes moved(std::uint32_t version, std::uint32_t seed, std::uint32_t pieces = 60) {
  Bytes bytes(256 * version, std::byte{0x11});
  for (std::uint32_t piece = 0; piece < pieces; ++piece) {
    Bytes part = pattern(20'000 + 256 * (piece % 7), seed + piece);
    part[700] = static_cast<std::byte>(version);
    bytes.insert(bytes.end(), part.begin(), part.end());
    if (piece % 9 == 3) bytes.insert(bytes.end(), 256 * version, static_cast<std::byte>(version));
  }
  return bytes;
}

class UseUpdate : public ::testing::Test {
 protected:
  void SetUp() override {
    pack(old_, 1);
    pack(source_, 2);
    bytes_ = read_file(source_);
    make();
  }
  static void pack(const std::string& path, std::uint32_t version) {
    write_file(path, support::packed_bytes({support::binary_record("one", "v68", moved(version, 100)),
                                            support::binary_record("two", "v73", moved(version, 500))}));
  }
  void make(std::vector<std::string> olds = {}) {
    if (olds.empty()) olds = {old_};
    ASSERT_TRUE(is_ok(make_update(olds, source_, update_, {.overwrite = true})));
  }
  FetchPlan begun(FetchOptions options, const Bytes& source) const {
    options.overwrite = true;
    return FetchPlan::begin(target_, source.size(), std::move(options)).value();
  }
  FetchPlan begun(std::vector<std::string> records, std::vector<std::string> seeds) const {
    FetchOptions options;
    options.all = records.empty();
    options.records = std::move(records);
    options.seeds = std::move(seeds);
    return begun(std::move(options), bytes_);
  }
  // Gives the plan all that it wants, up to a stage.
  static void give(FetchPlan& plan, FetchStage until, const Bytes& source) {
    for (int rounds = 0; plan.stage() < until; ++rounds) {
      ASSERT_LT(rounds, 10);
      for (const ByteRange& range : plan.wanted()) {
        ASSERT_TRUE(is_ok(plan.take(range.offset, ByteView(source).subspan(static_cast<std::size_t>(range.offset),
                                                                           static_cast<std::size_t>(range.size)))));
      }
    }
  }
  void to_payload(FetchPlan& plan) const { give(plan, FetchStage::kPayload, bytes_); }
  void end(FetchPlan& plan) const {
    give(plan, FetchStage::kDone, bytes_);
    ASSERT_TRUE(is_ok(plan.publish()));
  }
  // Leaves one record of the old file.
  void make_old_partial(const std::string& record) const {
    const Bytes whole = read_file(old_);
    FetchOptions options;
    options.records = {record};
    FetchPlan plan = begun(std::move(options), whole);
    give(plan, FetchStage::kDone, whole);
    ASSERT_TRUE(is_ok(plan.publish()));
    std::filesystem::rename(target_, old_);
  }
  void expect_no_wrong_byte() const {
    const Bytes got = read_file(target_);
    ASSERT_EQ(got.size(), bytes_.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(got[i] == bytes_[i] || got[i] == std::byte{}) << i;
  }
  void expect_nothing_beside() const {
    for (const std::string& name : folder_.names()) EXPECT_THAT(name, ::testing::Not(HasSubstr("updated")));
  }
  container::ContainerName name_of(const std::string& path) const {
    return container::ContainerFile::open(path).value().name();
  }
  // Returns the first large segment of payload.
  static ByteRange payload_of(const std::string& path) {
    const container::Toc toc = container::ContainerFile::open(path).value().opened.toc;
    const auto found = std::find_if(toc.segments.begin(), toc.segments.end(), [](const container::Segment& one) {
      return one.holds_payload() && one.size > 4 * kLeaf;
    });
    return {found->offset, found->size};
  }
  void forge(const std::vector<UpdateStep>& steps) const {
    write_file(update_, support::forged_update(name_of(source_), bytes_, name_of(old_), read_file(old_), steps));
  }

  const support::TempDir folder_;
  const std::string old_ = folder_.file("old.fatctx");
  const std::string source_ = folder_.file("new.fatctx");
  const std::string update_ = folder_.file("update");
  const std::string target_ = folder_.file("got.fatctx");
  Bytes bytes_;
};

TEST_F(UseUpdate, AWholeOldFileGivesEverything) {
  FetchPlan plan = begun({}, {old_});
  to_payload(plan);
  std::uint64_t made = 0;
  ASSERT_TRUE(is_ok(plan.use_update(update_, [&](std::uint64_t done, std::uint64_t) { made = done; })));
  EXPECT_EQ(made, bytes_.size());
  EXPECT_EQ(plan.stage(), FetchStage::kDone);
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
  EXPECT_LT(plan.report().fetched_bytes, kMetadata);
  expect_nothing_beside();
}

TEST_F(UseUpdate, APartialOldFileGivesTheDevicesPart) {
  make_old_partial("two");
  FetchPlan plan = begun({"two"}, {old_});
  to_payload(plan);
  const std::uint64_t missing = plan.missing_bytes();
  ASSERT_TRUE(is_ok(plan.use_update(update_)));
  EXPECT_LT(plan.missing_bytes(), missing / 20) << "pieces that both records have come from the one that is absent";
  end(plan);
  expect_no_wrong_byte();
  EXPECT_LT(plan.report().fetched_bytes, missing / 20 + kMetadata);
  const Container got = Container::open(target_).value();
  Bytes record(moved(2, 500).size());
  ASSERT_TRUE(is_ok(read_record(got, got.find("two").value().id, record)));
  EXPECT_EQ(record, moved(2, 500));
}

TEST_F(UseUpdate, ACopyOfAPartialFileHasZerosForHoles) {
  make_old_partial("two");
  write_file(old_, read_file(old_));
  FetchPlan plan = begun({}, {old_});
  to_payload(plan);
  const std::uint64_t missing = plan.missing_bytes();
  ASSERT_TRUE(is_ok(plan.use_update(update_)));
  EXPECT_LT(plan.missing_bytes(), missing / 20 * 11) << "one of two records is there";
  const std::uint64_t left = plan.missing_bytes();
  EXPECT_GT(left, missing / 20 * 9) << "zeros are no bytes of the other one";
  end(plan);
  EXPECT_LT(plan.report().fetched_bytes, left + kMetadata) << "no guess was wrong, so no leaf is fetched as a whole";
  EXPECT_EQ(read_file(target_), bytes_);
}

// Bytes that are copied from NEW are unknown if those that they copy are.
TEST_F(UseUpdate, UnknownBytesStayUnknownWhenTheyAreCopied) {
  make_old_partial("two");
  const std::uint64_t absent = payload_of(old_).offset;
  const std::uint64_t middle = payload_of(source_).offset + kLeaf / 2;
  forge({{.kind = UpdateStep::Kind::kCopy, .target = 0, .size = 1000, .source = 1, .offset = absent},
         {.kind = UpdateStep::Kind::kLiteral, .target = 1000, .size = middle - 1000},
         {.kind = UpdateStep::Kind::kCopy, .target = middle, .size = 1000, .source = 0, .offset = 0},
         {.kind = UpdateStep::Kind::kLiteral, .target = middle + 1000, .size = bytes_.size() - middle - 1000}});
  FetchPlan plan = begun({}, {old_});
  to_payload(plan);
  ASSERT_TRUE(is_ok(plan.use_update(update_)));
  EXPECT_EQ(plan.missing_bytes(), 1000U);
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
}

TEST_F(UseUpdate, OneOfTwoOldFilesServes) {
  const std::string other = folder_.file("other.fatctx");
  write_file(old_, support::packed_bytes({support::binary_record("one", "v68", moved(1, 100))}));
  write_file(other, support::packed_bytes({support::binary_record("two", "v73", moved(1, 500))}));
  make({other, old_});
  FetchPlan plan = begun({"one"}, {old_});
  to_payload(plan);
  const std::uint64_t missing = plan.missing_bytes();
  ASSERT_TRUE(is_ok(plan.use_update(update_)));
  EXPECT_LT(plan.missing_bytes(), missing / 20);
  end(plan);
  expect_no_wrong_byte();
}

// Nobody compares the payload of the old file first. The source brings what comes out wrong.
TEST_F(UseUpdate, ADamagedOldFileCostsItsLeaves) {
  Bytes damaged = read_file(old_);
  const Bytes piece = pattern(20'000 + 256 * 5, 100 + 5);
  const auto there = std::search(damaged.begin(), damaged.end(), piece.begin() + 1000, piece.end());
  ASSERT_NE(there, damaged.end());
  *there ^= std::byte{1};
  write_file(old_, damaged);
  FetchPlan plan = begun({}, {old_});
  to_payload(plan);
  ASSERT_TRUE(is_ok(plan.use_update(update_)));
  EXPECT_EQ(plan.missing_bytes(), kLeaf);
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
}

TEST_F(UseUpdate, AnUpdateThatLiesCostsBytesAndNothingElse) {
  forge({{.kind = UpdateStep::Kind::kFill, .target = 0, .size = 300'000, .source = 0, .offset = 0x77},
         {.kind = UpdateStep::Kind::kCopy,
          .target = 300'000,
          .size = bytes_.size() - 300'000,
          .source = 1,
          .offset = 9}});
  FetchPlan plan = begun({}, {old_});
  to_payload(plan);
  ASSERT_TRUE(is_ok(plan.use_update(update_)));
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
  EXPECT_LT(plan.report().reused_bytes, kLeaf) << "wrong guesses do not count";
}

TEST_F(UseUpdate, AnUpdateThatEndsInNonsenseKeepsWhatItMade) {
  std::vector<UpdateStep> steps;
  for (std::uint64_t at = 0; at < bytes_.size(); at += 1000) {
    steps.push_back(
        {.kind = UpdateStep::Kind::kLiteral, .target = at, .size = std::min<std::uint64_t>(1000, bytes_.size() - at)});
  }
  steps.back() = {
      .kind = UpdateStep::Kind::kCopy, .target = steps.back().target, .size = steps.back().size, .source = 2};
  forge(steps);
  FetchPlan plan = begun({}, {old_});
  to_payload(plan);
  EXPECT_TRUE(fails_with(plan.use_update(update_), ErrorCode::kMalformed));
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
  expect_nothing_beside();
}

// Each place that is unknown costs memory, and an update of a few bytes can make very many.
TEST_F(UseUpdate, TooManyUnknownPlacesAreRefused) {
  bytes_ = support::packed_bytes({support::binary_record("one", "v68", pattern(9'000'000, 3))});
  write_file(source_, bytes_);
  make_old_partial("two");
  const std::uint64_t absent = payload_of(old_).offset;
  std::vector<UpdateStep> steps;
  for (std::uint64_t at = 0; at + 32 <= bytes_.size(); at += 32) {
    steps.push_back({.kind = UpdateStep::Kind::kFill, .target = at, .size = 20});
    steps.push_back({.kind = UpdateStep::Kind::kCopy, .target = at + 20, .size = 12, .source = 1, .offset = absent});
  }
  if (bytes_.size() % 32 != 0) {
    steps.push_back({.kind = UpdateStep::Kind::kFill, .target = bytes_.size() / 32 * 32, .size = bytes_.size() % 32});
  }
  forge(steps);
  FetchPlan plan = begun({}, {old_});
  to_payload(plan);
  const auto refused = plan.use_update(update_);
  EXPECT_TRUE(fails_with(refused, ErrorCode::kLimitExceeded));
  EXPECT_THAT(refused.error().message, HasSubstr("places"));
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);
}

TEST_F(UseUpdate, IsRefusedWithTheReason) {
  FetchPlan plan = begun({}, {old_});
  EXPECT_TRUE(fails_with(plan.use_update(update_), ErrorCode::kOperationNotPermitted));
  to_payload(plan);
  EXPECT_TRUE(fails_with(plan.use_update(old_), ErrorCode::kBadMagic));
  EXPECT_TRUE(fails_with(plan.use_update(folder_.file("none")), ErrorCode::kNotFound));
  const std::string back = folder_.file("back");
  const std::vector<std::string> newer = {source_};
  ASSERT_TRUE(is_ok(make_update(newer, old_, back)));
  EXPECT_TRUE(fails_with(plan.use_update(back), ErrorCode::kChanged)) << "it makes another container";
  const std::atomic<bool> cancel = true;
  EXPECT_TRUE(fails_with(plan.use_update(update_, {}, &cancel), ErrorCode::kCancelled));
  Bytes damaged = read_file(update_);
  damaged.back() ^= std::byte{1};
  write_file(back, damaged);
  EXPECT_TRUE(fails_with(plan.use_update(back), ErrorCode::kChecksumMismatch));
  ASSERT_TRUE(is_ok(plan.use_update(update_))) << "a refused update changes nothing";
  end(plan);
  EXPECT_EQ(read_file(target_), bytes_);

  std::filesystem::remove(target_);
  const std::string other = folder_.file("other.fatctx");
  pack(other, 3);
  FetchPlan without = begun({"one"}, {other});
  to_payload(without);
  const auto refused = without.use_update(update_);
  EXPECT_TRUE(fails_with(refused, ErrorCode::kChanged));
  EXPECT_THAT(refused.error().message, HasSubstr("none of the files here is that"));
}

}  // namespace use_update_test
}  // namespace fatctx
