// A fetch of a device's part from a source that a test plays: any order, any cut, wrong bytes, interruptions, old
// files.
#include "fatctx/fetch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "container/format/crypto.h"
#include "container/update/container_file.h"
#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/info.h"
#include "fatctx/keys.h"
#include "fatctx/presence.h"
#include "fatctx/signature.h"
#include "fatctx/verify.h"
#include "runtime/small_model.h"
#include "support/amount.h"
#include "support/result_matchers.h"

namespace fatctx {
namespace fetch_plan_test {

using support::fails_with;
using support::is_ok;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::pattern;
using ::testing::UnorderedElementsAre;

constexpr std::size_t kLeaf = 65'536;
constexpr std::size_t kBinary = 3 * kLeaf + 1000;

Device device_of(const std::string& arch) {
  Device device;
  device.arch = arch;
  return device;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

ByteView view_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A container of three binaries with own weights, and what a fetch of it does.
class Fetch : public ::testing::Test {
 protected:
  void SetUp() override { pack(source_, 1); }

  // `version` changes one leaf of the weights and all of the binary of x86-64-v4.
  static void pack(const std::string& path, std::uint32_t version, bool sha256 = false) {
    PackOptions options;
    options.overwrite = true;
    options.sha256 = sha256;
    options.model_name = "m";
    Packer packer(options);
    PackRecord weights;
    weights.type = RecordType::kWeightBlob;
    weights.name = "weights";
    weights.source.bytes = pattern(40 * kLeaf, 1);
    std::fill_n(weights.source.bytes.begin() + 5 * kLeaf, 100, static_cast<std::byte>(version));
    ASSERT_TRUE(is_ok(packer.add(std::move(weights))));
    std::uint32_t seed = 10;
    for (const char* arch : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
      PackRecord binary;
      binary.type = RecordType::kContextBinary;
      binary.name = arch;
      binary.key.backend = "cpu";
      binary.key.arch = arch;
      const bool changes = std::string(arch) == "x86-64-v4";
      binary.source.bytes = pattern(kBinary, ++seed + (changes ? 100 * version : 0));
      binary.weights = {"weights"};
      ASSERT_TRUE(is_ok(packer.add(std::move(binary))));
    }
    ASSERT_TRUE(is_ok(packer.publish(path)));
  }

  // Gives the plan all that it wants, in pieces. `change` may change a piece before it is given; false ends the fetch.
  using Change = std::function<bool(std::uint64_t offset, std::string& piece)>;
  static Status give(FetchPlan& plan, const std::string& bytes, std::size_t piece = 10'007, const Change& change = {}) {
    while (plan.stage() != FetchStage::kDone) {
      for (const ByteRange& range : plan.wanted()) {
        for (std::uint64_t at = range.offset; at < range.offset + range.size; at += piece) {
          std::string part = bytes.substr(at, std::min<std::uint64_t>(piece, range.offset + range.size - at));
          if (change && !change(at, part)) return Error{ErrorCode::kCancelled, "the test ends it"};
          FATCTX_TRY(plan.take(at, view_of(part)));
        }
      }
    }
    return Done{};
  }

  Result<FetchReport> fetch(FetchOptions options, const std::string& source) const {
    const std::string bytes = bytes_of(source);
    FATCTX_ASSIGN(FetchPlan plan, FetchPlan::begin(target_, bytes.size(), std::move(options)));
    FATCTX_TRY(give(plan, bytes));
    FATCTX_TRY(plan.publish());
    return plan.report();
  }

  // Expects that the record is in the target, and its bytes are those of the source.
  void expect_record(const std::string& name, const OpenOptions& options = {}) const {
    const Container fetched = Container::open(target_, options).value();
    const auto view = fetched.acquire(name);
    ASSERT_TRUE(is_ok(view));
    const RecordView whole = Container::open(source_).value().acquire(name).value();
    EXPECT_TRUE(std::ranges::equal(view.value().bytes(), whole.bytes()));
  }

  const testing::Folder folder_;
  const std::string source_ = folder_ / "source.fatctx";
  const std::string target_ = folder_ / "target.fatctx";
  const std::string part_ = target_ + ".fetching";
};

TEST_F(Fetch, BringsTheRecordsOfADeviceAndNoMore) {
  const auto report = fetch({.devices = {device_of("x86-64-v3")}}, source_);
  ASSERT_TRUE(is_ok(report));
  EXPECT_THAT(report.value().records, UnorderedElementsAre("x86-64-v3", "weights", "description"));
  EXPECT_LT(report.value().needed_bytes, 40 * kLeaf + kBinary + 3 * kLeaf);
  EXPECT_EQ(report.value().reused_bytes, 0U);

  expect_record("x86-64-v3");
  expect_record("weights");
  const Container fetched = Container::open(target_).value();
  EXPECT_FALSE(fetched.acquire("x86-64-v2").ok());
  const auto verified = verify_file(target_);
  ASSERT_TRUE(is_ok(verified));
  for (const VerifyFinding& finding : verified.value().findings) {
    EXPECT_EQ(finding.error.code, ErrorCode::kNotPresent) << to_text(finding.error);
  }
  EXPECT_FALSE(std::filesystem::exists(part_));
}

TEST_F(Fetch, BringsWhatIsNamedOrAllOfIt) {
  ASSERT_TRUE(is_ok(fetch({.all = true}, source_)));
  EXPECT_EQ(bytes_of(target_), bytes_of(source_));

  const auto named = fetch({.records = {"weights"}, .overwrite = true}, source_);
  ASSERT_TRUE(is_ok(named));
  EXPECT_THAT(named.value().records, UnorderedElementsAre("weights", "description"));
  expect_record("weights");

  EXPECT_TRUE(fails_with(fetch({.records = {"weihgts"}, .overwrite = true}, source_), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(fetch({.devices = {device_of("aarch64")}, .overwrite = true}, source_), ErrorCode::kNoMatch));
  expect_record("weights");  // the file of before is as it was
}

TEST_F(Fetch, BringsMetadataWithoutPayload) {
  const std::string bytes = bytes_of(source_);
  FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.metadata = true}).value();
  std::uint64_t fetched = 0;
  const auto counted = [&](std::uint64_t, std::string& piece) {
    fetched += piece.size();
    return true;
  };
  ASSERT_TRUE(is_ok(give(plan, bytes, 10'007, counted)));
  ASSERT_TRUE(is_ok(plan.publish()));
  EXPECT_LE(fetched, 3 * kLeaf);
  EXPECT_THAT(plan.report().records, ElementsAre("description"));

  const Container opened = Container::open(target_).value();
  EXPECT_THAT(opened.report().value().degraded, IsEmpty());
  EXPECT_EQ(opened.records().value().size(), Container::open(source_).value().records().value().size());
  EXPECT_EQ(opened.describe().value().name, "m");
  EXPECT_TRUE(fails_with(opened.acquire("weights"), ErrorCode::kNotPresent, "F26"));
}

TEST_F(Fetch, RestoresCopiesThatCameDamaged) {
  const std::string bytes = bytes_of(source_);
  const std::vector<FileExtent> extents = file_extents(Container::open(source_).value()).value();
  const auto table = std::ranges::find(extents, "toc copy 1", &FileExtent::kind);
  ASSERT_NE(table, extents.end());
  for (const std::uint64_t place : {std::uint64_t{8}, table->range.offset + 100}) {  // of prologue 0, of the table
    std::string damaged = bytes;
    damaged[place] ^= 1;
    FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.all = true, .overwrite = true}).value();
    ASSERT_TRUE(is_ok(give(plan, damaged)));
    ASSERT_TRUE(is_ok(plan.publish()));
    EXPECT_EQ(plan.report().degraded.size(), 1U) << place;
    EXPECT_EQ(bytes_of(target_), bytes) << place;
  }
}

TEST_F(Fetch, BringsTheSecondCopyOfTheTableIfTheFirstIsDamaged) {
  std::string bytes = bytes_of(source_);
  const std::vector<FileExtent> extents = file_extents(Container::open(source_).value()).value();
  const auto table = std::ranges::find(extents, "toc copy 0", &FileExtent::kind);
  ASSERT_NE(table, extents.end());
  bytes[table->range.offset + 100] ^= 1;
  FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.metadata = true}).value();
  ASSERT_TRUE(is_ok(give(plan, bytes)));
  ASSERT_TRUE(is_ok(plan.publish()));
  const Container opened = Container::open(target_).value();
  EXPECT_THAT(opened.report().value().degraded, ElementsAre(HasSubstr("toc copy 0")));
}

TEST_F(Fetch, RefusesMetadataAloneWithPayload) {
  EXPECT_TRUE(fails_with(FetchPlan::begin(target_, 100, {.all = true, .metadata = true}), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(FetchPlan::begin(target_, 100, {.devices = {device_of("aarch64")}, .metadata = true}),
                         ErrorCode::kInvalidArgument));
}

TEST_F(Fetch, TakesAnyOrderAnyCutAndBytesThatNobodyWants) {
  const std::string bytes = bytes_of(source_);
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same order each time
  FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.devices = {device_of("x86-64-v2")}}).value();
  ASSERT_TRUE(is_ok(plan.take(bytes.size() / 2, view_of(bytes.substr(bytes.size() / 2, 5000)))));
  while (plan.stage() != FetchStage::kDone) {
    std::vector<ByteRange> pieces;
    for (const ByteRange& range : plan.wanted()) {
      for (std::uint64_t at = range.offset; at < range.offset + range.size;) {
        const std::uint64_t size = std::min<std::uint64_t>(1 + random() % 30'000, range.offset + range.size - at);
        pieces.push_back({at, size});
        at += size;
      }
    }
    std::shuffle(pieces.begin(), pieces.end(), random);
    for (const ByteRange& piece : pieces) {
      ASSERT_TRUE(is_ok(plan.take(piece.offset, view_of(bytes.substr(piece.offset, piece.size)))));
    }
  }
  ASSERT_TRUE(is_ok(plan.publish()));
  expect_record("x86-64-v2");
  expect_record("weights");
  EXPECT_TRUE(fails_with(plan.take(bytes.size(), view_of("behind the end")), ErrorCode::kInvalidArgument));
}

TEST_F(Fetch, RefusesWrongBytesAndWantsThemAgain) {
  const std::string bytes = bytes_of(source_);
  const std::uint64_t place = Container::open(source_).value().find("weights").value().file_offset + 7 * kLeaf + 5;
  FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.records = {"weights"}}).value();
  const auto spoil = [&](std::uint64_t at, std::string& piece) {
    if (at <= place && place < at + piece.size()) piece[place - at] ^= 1;
    return true;
  };
  const auto spoiled = give(plan, bytes, 10'007, spoil);
  ASSERT_TRUE(fails_with(spoiled, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_THAT(spoiled.error().message, HasSubstr("came damaged"));
  EXPECT_TRUE(fails_with(plan.publish(), ErrorCode::kOperationNotPermitted));
  EXPECT_FALSE(std::filesystem::exists(target_));

  ASSERT_TRUE(is_ok(give(plan, bytes)));
  ASSERT_TRUE(is_ok(plan.publish()));
  expect_record("weights");
}

TEST_F(Fetch, SaysThatAPartialSourceLacksTheBytes) {
  ASSERT_TRUE(is_ok(fetch({.records = {"x86-64-v2"}}, source_)));
  const std::string partial = bytes_of(target_);
  FetchPlan plan = FetchPlan::begin(folder_ / "other.fatctx", partial.size(), {.records = {"x86-64-v3"}}).value();
  const auto given = give(plan, partial);
  ASSERT_FALSE(given.ok());
  EXPECT_THAT(given.error().message, HasSubstr("the source does not have them"));
}

TEST_F(Fetch, SaysThatPayloadCameAsZeros) {
  std::string bytes = bytes_of(source_);
  const std::uint64_t weights = Container::open(source_).value().find("weights").value().file_offset;
  bytes.replace(static_cast<std::size_t>(weights + 3 * kLeaf), kLeaf, kLeaf, '\0');
  FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.records = {"weights"}}).value();
  const auto given = give(plan, bytes);
  ASSERT_TRUE(fails_with(given, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_THAT(given.error().message, HasSubstr("came as zeros; the source does not have them"));
}

TEST_F(Fetch, RefusesSpoiledMetadata) {
  const std::string bytes = bytes_of(source_);
  const auto spoil_at = [&](std::uint64_t place) {
    FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.records = {"weights"}}).value();
    const auto given = give(plan, bytes, 4096, [&](std::uint64_t at, std::string& piece) {
      if (at <= place && place < at + piece.size()) piece[place - at] ^= 1;
      return true;
    });
    plan.discard();
    return given;
  };
  EXPECT_TRUE(is_ok(spoil_at(0)));  // one copy of the prologue is enough, and the report says so
  const std::string nothing(bytes.size(), '\0');
  FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.records = {"weights"}}).value();
  EXPECT_TRUE(fails_with(give(plan, nothing), ErrorCode::kBadMagic, "F1"));
  EXPECT_FALSE(std::filesystem::exists(target_));
}

TEST_F(Fetch, GoesOnWhereAnInterruptedOneEnded) {
  const std::string bytes = bytes_of(source_);
  std::uint64_t given = 0;
  {
    FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.all = true}).value();
    const auto stopped = give(plan, bytes, 10'007, [&](std::uint64_t, std::string& piece) {
      given += piece.size();
      return given < bytes.size() / 2;
    });
    EXPECT_TRUE(fails_with(stopped, ErrorCode::kCancelled));
  }
  ASSERT_TRUE(std::filesystem::exists(part_));
  EXPECT_FALSE(std::filesystem::exists(target_));

  // A crash has torn a leaf, and left one that is not asked for any more.
  const Container source = Container::open(source_).value();
  {
    std::fstream file(part_, std::ios::binary | std::ios::in | std::ios::out);
    for (const char* name : {"weights", "x86-64-v2"}) {
      file.seekp(static_cast<std::streamoff>(source.find(name).value().file_offset + 100));
      file << "torn";
    }
  }
  FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.records = {"x86-64-v3"}}).value();
  ASSERT_TRUE(is_ok(give(plan, bytes)));
  ASSERT_TRUE(is_ok(plan.publish()));
  EXPECT_GT(plan.report().present_bytes, 10 * kLeaf);
  EXPECT_LT(plan.report().fetched_bytes, plan.report().needed_bytes);
  expect_record("x86-64-v3");
  expect_record("weights");
  const VerifyReport verified = verify_file(target_).value();
  for (const VerifyFinding& finding : verified.findings) {
    EXPECT_EQ(finding.error.code, ErrorCode::kNotPresent) << to_text(finding.error);
  }
}

TEST_F(Fetch, StartsAnewForAnotherGenerationAndUsesWhatItHad) {
  const std::string bytes = bytes_of(source_);
  {
    FetchPlan plan = FetchPlan::begin(target_, bytes.size(), {.all = true}).value();
    ASSERT_TRUE(is_ok(give(plan, bytes)));
  }  // complete, and not published
  pack(source_, 2);
  const auto report = fetch({.devices = {device_of("x86-64-v3")}}, source_);
  ASSERT_TRUE(is_ok(report));
  EXPECT_GE(report.value().reused_bytes, report.value().needed_bytes - 4 * kLeaf);
  expect_record("weights");
}

TEST_F(Fetch, TakesEqualLeavesFromOldFiles) {
  const std::string old = folder_ / "old.fatctx";
  pack(old, 1);
  pack(source_, 2);
  const auto report = fetch({.devices = {device_of("x86-64-v4")}, .seeds = {old}}, source_);
  ASSERT_TRUE(is_ok(report));
  // New are the binary, one leaf of the weights and the description.
  EXPECT_LE(report.value().needed_bytes - report.value().reused_bytes, kBinary + 3 * kLeaf);
  expect_record("weights");
  expect_record("x86-64-v4");

  EXPECT_TRUE(fails_with(FetchPlan::begin(target_, 1'000'000, {.overwrite = true, .seeds = {folder_ / "none"}}),
                         ErrorCode::kNotFound));
}

TEST_F(Fetch, DoesNotBelieveASeed) {
  const std::string old = folder_ / "old.fatctx";
  pack(old, 1);
  const std::uint64_t place = Container::open(old).value().find("weights").value().file_offset;
  {
    std::fstream file(old, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(place + 9 * kLeaf));
    file << "damaged";
  }
  const auto report = fetch({.records = {"weights"}, .seeds = {old}}, source_);
  ASSERT_TRUE(is_ok(report));
  EXPECT_GT(report.value().reused_bytes, 30 * kLeaf);
  expect_record("weights");
}

TEST_F(Fetch, AddsRecordsToAPartialFile) {
  ASSERT_TRUE(is_ok(fetch({.records = {"x86-64-v2"}}, source_)));
  const Container held = Container::open(target_).value();
  const RecordView view = held.acquire("x86-64-v2").value();
  EXPECT_TRUE(fails_with(fetch({.records = {"x86-64-v3"}}, source_), ErrorCode::kExists));

  const auto more = fetch({.records = {"x86-64-v3"}, .more = true}, source_);
  ASSERT_TRUE(is_ok(more));
  EXPECT_GT(more.value().reused_bytes, 40 * kLeaf);
  for (const char* name : {"x86-64-v2", "x86-64-v3", "weights"}) expect_record(name);
  EXPECT_EQ(view.bytes().size(), kBinary);  // the old file stays with those who have it

  pack(source_, 2);
  EXPECT_TRUE(fails_with(fetch({.records = {"x86-64-v4"}, .more = true}, source_), ErrorCode::kChanged));
  EXPECT_TRUE(is_ok(Container::open(target_).value().acquire("x86-64-v3")));
}

TEST_F(Fetch, AddsOnlyWhatIsAskedToACopyWithoutHoles) {
  ASSERT_TRUE(is_ok(fetch({.records = {"x86-64-v2"}}, source_)));
  const std::string bytes = bytes_of(target_);
  std::ofstream(target_, std::ios::binary) << bytes;  // zeros where the file had holes

  const auto more = fetch({.records = {"weights"}, .more = true}, source_);
  ASSERT_TRUE(is_ok(more));
  EXPECT_THAT(more.value().records, ::testing::Not(::testing::Contains("x86-64-v4")));
  for (const char* name : {"x86-64-v2", "weights"}) expect_record(name);
}

TEST_F(Fetch, BringsTheContainerOfADigestAndNoOther) {
  const std::string bytes = bytes_of(source_);
  const container::Header header = container::ContainerFile::open(source_).value().opened.header;
  const std::string digest = to_hex(
      container::sha256(view_of(bytes).subspan(static_cast<std::size_t>(header.toc_offset[0]), header.toc_size)));
  EXPECT_TRUE(is_ok(fetch({.records = {"x86-64-v2"}, .overwrite = true, .toc_sha256 = digest}, source_)));
  pack(source_, 2);
  std::filesystem::remove(target_);
  const auto refused = fetch({.records = {"x86-64-v2"}, .toc_sha256 = digest}, source_);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChanged));
  EXPECT_THAT(refused.error().message, HasSubstr("not the container that was asked for"));
  EXPECT_FALSE(std::filesystem::exists(target_));
  EXPECT_TRUE(fails_with(fetch({.toc_sha256 = "ABC"}, source_), ErrorCode::kInvalidArgument));
}

TEST_F(Fetch, HoldsASignature) {
  const KeyFiles keys = make_keys(folder_ / "key").value();
  ASSERT_TRUE(is_ok(sign_container(source_, folder_ / "key.key", source_)));
  const auto report = fetch({.devices = {device_of("x86-64-v3")}, .trusted_keys = {keys.public_key}}, source_);
  ASSERT_TRUE(is_ok(report));
  const OpenOptions trusted{.trusted_keys = {keys.public_key}};
  expect_record("x86-64-v3", trusted);
  EXPECT_TRUE(Container::open(target_, trusted).value().report().value().signature_verified);

  const KeyFiles others = make_keys(folder_ / "other").value();
  EXPECT_TRUE(fails_with(fetch({.all = true, .overwrite = true, .trusted_keys = {others.public_key}}, source_),
                         ErrorCode::kSignatureBad));
  EXPECT_TRUE(fails_with(
      fetch({.all = true, .overwrite = true, .trusted_keys = {keys.public_key}, .minimum_generation = 99}, source_),
      ErrorCode::kRollback));
}

TEST_F(Fetch, KeepsOutASecondFetchAndForeignFiles) {
  const FetchPlan first = FetchPlan::begin(target_, 1'000'000, {.all = true}).value();
  EXPECT_TRUE(fails_with(FetchPlan::begin(target_, 1'000'000, {.all = true}), ErrorCode::kLocked));

  // A file of that name stays unchanged unless a fetch made it.
  const std::string mine = folder_ / "mine.fatctx";
  std::ofstream(mine + ".fetching") << std::string(100'000, 'x');
  const std::string bytes = bytes_of(source_);
  FetchPlan over = FetchPlan::begin(mine, bytes.size(), {.all = true}).value();
  EXPECT_TRUE(fails_with(give(over, bytes), ErrorCode::kExists));
  EXPECT_EQ(bytes_of(mine + ".fetching"), std::string(100'000, 'x'));

  const std::string other = folder_ / "other.fatctx";
  std::filesystem::create_symlink(source_, other + ".fetching");
  EXPECT_TRUE(fails_with(FetchPlan::begin(other, 1'000'000, {.all = true}), ErrorCode::kOperationNotPermitted));
  EXPECT_TRUE(fails_with(FetchPlan::begin(folder_ / "third", 0, {.all = true}), ErrorCode::kTruncated));
}

TEST_F(Fetch, JoinsRangesThatCostLessTogether) {
  const std::string bytes = bytes_of(source_);
  const auto ranges = [&](std::uint64_t gap) {
    FetchPlan plan =
        FetchPlan::begin(target_, bytes.size(), {.devices = {device_of("x86-64-v4")}, .gap_bytes = gap}).value();
    std::vector<ByteRange> found;
    while (plan.stage() != FetchStage::kDone) {
      found = plan.wanted();
      for (const ByteRange& range : plan.wanted()) {
        EXPECT_TRUE(is_ok(plan.take(range.offset, view_of(bytes.substr(range.offset, range.size)))));
      }
    }
    plan.discard();
    return found;
  };
  const auto apart = ranges(0);
  EXPECT_GE(apart.size(), 2U);
  EXPECT_EQ(ranges(bytes.size()).size(), 1U);
}

// The state of a killed fetch, in memory that its parent sees.
struct Progressed {
  std::uint64_t missing;  // after the last piece; 0: the payload had not begun
  std::uint64_t published;
};

// Kills a fetch at any moment, and fetches again: nothing unverified is published, the old file stays until the new one
// is whole, and nothing that came is asked for again. FATCTX_FETCH_KILLS is the number of kills (20).
TEST_F(Fetch, SurvivesKillsAtAnyMoment) {
  const std::string newer = folder_ / "newer.fatctx";
  pack(newer, 2);
  const std::array<std::string, 2> versions = {bytes_of(source_), bytes_of(newer)};
  auto* const seen = static_cast<Progressed*>(
      ::mmap(nullptr, sizeof(Progressed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(seen, MAP_FAILED);
  std::mt19937 random(11);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same moments each time
  std::size_t wanted = 1;   // the version that is fetched; the other one is the old file
  std::filesystem::copy_file(source_, target_);
  std::uint64_t missing = 0;  // after the last kill
  const int kills = support::amount("FATCTX_FETCH_KILLS", 20);
  for (int killed = 0; killed < kills;) {
    const std::string& bytes = versions[wanted];
    const std::uint64_t moment = random() % (bytes.size() / 3);
    const bool at_a_time = random() % 2 == 0;
    *seen = {};
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (at_a_time) {  // in the middle of a call, too
        const itimerval soon = {{0, 0}, {0, static_cast<suseconds_t>(200 + moment % 9'000)}};
        (void)::signal(SIGALRM, [](int) { ::kill(::getpid(), SIGKILL); });
        (void)::setitimer(ITIMER_REAL, &soon, nullptr);
      }
      auto plan = FetchPlan::begin(target_, bytes.size(), {.all = true, .overwrite = true});
      if (!plan.ok()) ::_exit(1);
      std::uint64_t given = 0;
      const auto brought = give(plan.value(), bytes, 3'001, [&](std::uint64_t, std::string& piece) {
        if (plan.value().stage() == FetchStage::kPayload) seen->missing = plan.value().missing_bytes();
        given += piece.size();
        if (!at_a_time && given > moment) ::kill(::getpid(), SIGKILL);
        return true;
      });
      if (!brought.ok() || !plan.value().publish().ok()) ::_exit(2);
      seen->published = 1;
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const std::string found = bytes_of(target_);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0) << killed;
      ASSERT_EQ(found, bytes) << killed;
      wanted = 1 - wanted;
      missing = 0;
      continue;
    }
    ++killed;
    ASSERT_TRUE(found == versions[1 - wanted] || found == bytes) << killed;
    if (found == bytes) {  // killed behind the rename
      wanted = 1 - wanted;
      missing = 0;
      continue;
    }
    // The unfinished file has all that had come; the kill before it as well.
    if (seen->missing != 0) {
      EXPECT_LE(seen->missing, missing == 0 ? seen->missing : missing) << killed;
      missing = seen->missing;
    }
  }
  std::printf("%d fetches killed\n", kills);
  EXPECT_EQ(::munmap(seen, sizeof(Progressed)), 0);
  ASSERT_TRUE(is_ok(fetch({.all = true, .overwrite = true}, source_)));
  EXPECT_EQ(bytes_of(target_), bytes_of(source_));
}

}  // namespace fetch_plan_test
}  // namespace fatctx
