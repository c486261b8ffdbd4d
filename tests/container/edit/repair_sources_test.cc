// Repair from other containers: wrong bytes come back, bit for bit and from anywhere. Right ones are not touched. No
// fault of the disk, of a source or of a writer leaves a file worse than it was.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "container/edit/memory_source.h"
#include "container/edit/repair.h"
#include "container/format/disk_format.h"
#include "container/read/open.h"
#include "fatctx/container.h"
#include "fatctx/keys.h"
#include "fatctx/repair.h"
#include "fatctx/signature.h"
#include "fatctx/verify.h"
#include "support/appended.h"
#include "support/memory_file.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/signed_file.h"

namespace fatctx::container {
namespace repair_sources_test {

using repair_support::Memory;
using repair_support::place_of;
using repair_support::repaired;
using repair_support::spoil;
using repair_support::zero;
using support::Bytes;
using support::fails_with;
using support::FileCall;
using support::is_ok;
using support::MemoryFile;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Eq;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::size_t kLeaf = 65'536;
constexpr std::size_t kHeaderSize = 0x10000;  // the samples have the large form
constexpr std::size_t kWeights = 20 * kLeaf + 777;

// A large record of weights and two binaries; `seed` is that of the binaries, so that files differ in all but weights.
std::vector<PackRecord> records(unsigned seed = 1) {
  std::vector<PackRecord> all;
  for (const char* arch : {"x86-64-v2", "x86-64-v3"}) {
    PackRecord binary =
        support::binary_record(std::string("cpu-") + arch, arch, support::pattern(3 * kLeaf + seed, seed));
    binary.weights = {"weights"};
    all.push_back(std::move(binary));
    seed += 10;
  }
  all.push_back(support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(kWeights, 99)));
  return all;
}

const Bytes& whole_file() {
  static const Bytes bytes = support::packed_bytes(records());
  return bytes;
}
// A container of another model with the same weights, at another place.
const Bytes& other_file() {
  static const Bytes bytes = support::packed_bytes(records(50));
  return bytes;
}

// The leaves that a range touches, in bytes; at most so many may be read for it, with 1 % and the tables of a source.
std::uint64_t allowed(const Bytes& source, ByteRange damaged) {
  const std::uint64_t leaves = damaged.size / kLeaf + 2;
  return leaves * kLeaf * 101 / 100 + kLeaf + 2 * source.size() / 4096 + 8192;
}

TEST(RepairSources, BringsTheLeavesThatAreWrongAndNoOthers) {
  const ByteRange weights = place_of(whole_file(), "weights");
  for (const ByteRange damage :
       {ByteRange{weights.offset + 3 * kLeaf + 100, 5 * kLeaf}, ByteRange{weights.offset + 7 * kLeaf, 1},
        ByteRange{weights.offset + kWeights - 1, 1}}) {
    Bytes damaged = whole_file();
    spoil(damaged, damage);
    MemoryFile file(damaged);
    Memory source(whole_file());

    const auto report = repaired(file, source);

    ASSERT_TRUE(is_ok(report));
    EXPECT_TRUE(file.bytes() == whole_file());
    EXPECT_THAT(report.value().remaining, IsEmpty());
    ASSERT_EQ(report.value().restored.size(), 1U);
    EXPECT_THAT(report.value().restored[0].what, AllOf(StartsWith("payload of record"), HasSubstr("weights")));
    EXPECT_EQ(report.value().restored[0].range.size, report.value().lacking_bytes);
    EXPECT_LE(source.given, allowed(whole_file(), damage));
    EXPECT_EQ(report.value().sources.at(0).read_bytes, source.given);
    EXPECT_EQ(report.value().sources.at(0).restored_bytes, report.value().lacking_bytes);
    EXPECT_EQ(report.value().sources.at(0).problem, "");
  }
}

TEST(RepairSources, EqualLeavesOfAnotherContainerServeWhereverTheyAre) {
  const ByteRange weights = place_of(whole_file(), "weights");
  const ByteRange damage{weights.offset + 3 * kLeaf + 100, 2 * kLeaf};
  Bytes damaged = whole_file();
  spoil(damaged, damage);
  // Moves the weights, and then leaves alone, so that no segment is equal as a whole.
  std::vector<PackRecord> moved = records(50);
  moved.push_back(support::plain_record(RecordType::kOpaque, "aaa", support::pattern(9 * kLeaf, 7)));
  std::vector<PackRecord> longer = records(50);
  longer.back().source.bytes = support::pattern(kWeights, 99);
  longer.back().source.bytes.resize(kWeights + kLeaf, std::byte{77});
  for (const Bytes& other :
       {other_file(), support::packed_bytes(std::move(moved)), support::packed_bytes(std::move(longer))}) {
    MemoryFile file(damaged);
    Memory source(other);

    const auto report = repaired(file, source);

    ASSERT_TRUE(is_ok(report));
    EXPECT_TRUE(file.bytes() == whole_file());
    EXPECT_LE(source.given, allowed(other, damage));
  }
}

TEST(RepairSources, AFileThatWasCutOrEndsInZerosIsWholeAgain) {
  const std::uint64_t size = whole_file().size();
  for (const std::uint64_t kept : {size - 1, size / 2, size / 3 + 11, std::uint64_t{0x14000}}) {
    Bytes zeros = whole_file();
    zero(zeros, {kept, size - kept});
    Bytes cut = whole_file();
    cut.resize(static_cast<std::size_t>(kept));
    for (const Bytes& damaged : {cut, zeros}) {
      MemoryFile file(damaged);
      Memory source(whole_file());

      const auto report = repaired(file, source);

      ASSERT_TRUE(is_ok(report)) << kept;
      EXPECT_TRUE(file.bytes() == whole_file()) << kept;
      EXPECT_THAT(report.value().remaining, IsEmpty());
      EXPECT_LE(source.given, allowed(whole_file(), {kept, size - kept}));
    }
  }
}

TEST(RepairSources, TablesAndLeafHashesComeFromASourceToo) {
  Bytes appended = whole_file();
  appended = support::append(std::move(appended),
                             {support::plain_record(RecordType::kOpaque, "more", support::pattern(3 * kLeaf, 5))})
                 .bytes;
  const Header header = read_header(MemoryFile(whole_file()), whole_file().size()).value();
  // A later generation of the same container still has the table of the first one.
  for (const Bytes& from : {whole_file(), appended}) {
    Bytes damaged = whole_file();
    for (const std::uint64_t table : header.toc_offset) spoil(damaged, {table + 40, 100});
    const OpenedToc opened = read_toc(MemoryFile(whole_file()), whole_file().size()).value();
    for (const Segment& segment : opened.toc.segments) {
      if (segment.kind == SegmentKind::kLeaves) spoil(damaged, {segment.offset, segment.size});
    }
    const ByteRange weights = place_of(whole_file(), "weights");
    spoil(damaged, {weights.offset + kLeaf, 10});
    MemoryFile file(damaged);
    EXPECT_TRUE(fails_with(repair_file(file, "m.fatctx", {.threads = 1}), ErrorCode::kChecksumMismatch, "F13"));
    Memory source(from);

    const auto report = repaired(file, source);

    ASSERT_TRUE(is_ok(report));
    EXPECT_TRUE(file.bytes() == whole_file());
    EXPECT_THAT(report.value().remaining, IsEmpty());
  }
}

TEST(RepairSources, ADryRunSaysTheSameAndWritesNothing) {
  const ByteRange weights = place_of(whole_file(), "weights");
  Bytes damaged = whole_file();
  spoil(damaged, {weights.offset + 3 * kLeaf, 3 * kLeaf});
  damaged.resize(damaged.size() - 5);
  MemoryFile looked_at(damaged);
  Memory first(whole_file());
  const auto planned = repaired(looked_at, first, {.dry_run = true});
  ASSERT_TRUE(is_ok(planned));
  EXPECT_TRUE(looked_at.bytes() == damaged);
  EXPECT_LT(first.given, 2 * kLeaf);
  EXPECT_THAT(planned.value().remaining, IsEmpty());

  MemoryFile file(damaged);
  Memory source(whole_file());
  const auto done = repaired(file, source);
  ASSERT_TRUE(is_ok(done));
  ASSERT_EQ(planned.value().restored.size(), done.value().restored.size());
  for (std::size_t i = 0; i < done.value().restored.size(); ++i) {
    EXPECT_EQ(planned.value().restored[i].what, done.value().restored[i].what);
    EXPECT_EQ(planned.value().restored[i].range, done.value().restored[i].range);
  }
  EXPECT_EQ(planned.value().sources[0].read_bytes, done.value().sources[0].read_bytes);
  EXPECT_EQ(planned.value().sources[0].restored_bytes, done.value().sources[0].restored_bytes);
  EXPECT_EQ(planned.value().lacking_bytes, done.value().lacking_bytes);

  Memory lacks(other_file());
  lacks.bytes = support::packed_bytes({support::plain_record(RecordType::kOpaque, "x", support::pattern(100, 3))});
  const auto nothing = repaired(looked_at, lacks, {.dry_run = true});
  ASSERT_TRUE(is_ok(nothing));
  EXPECT_FALSE(nothing.value().remaining.empty());
}

TEST(RepairSources, ASourceThatLiesChangesNothing) {
  const ByteRange weights = place_of(whole_file(), "weights");
  Bytes damaged = whole_file();
  spoil(damaged, {weights.offset + 3 * kLeaf, 3 * kLeaf});
  const std::function<void(Bytes&)> lies[] = {[](Bytes& part) { part.back() ^= std::byte{1}; },
                                              [](Bytes& part) { std::fill(part.begin(), part.end(), std::byte{0}); }};
  for (const auto& lie : lies) {
    MemoryFile file(damaged);
    Memory liar(whole_file());
    liar.lie = lie;

    const auto report = repaired(file, liar);

    ASSERT_TRUE(is_ok(report));
    EXPECT_TRUE(file.bytes() == damaged);
    EXPECT_EQ(report.value().remaining.size(), 1U);
    EXPECT_NE(report.value().sources[0].problem, "");
    EXPECT_EQ(report.value().sources[0].restored_bytes, 0U);

    Memory honest(whole_file());  // the next source is asked for what the first one did not bring
    RepairOptions both;
    both.sources.push_back(liar.source());
    const auto mended = repaired(file, honest, std::move(both));
    ASSERT_TRUE(is_ok(mended));
    EXPECT_TRUE(file.bytes() == whole_file());
  }
}

TEST(RepairSources, ASourceThatCannotBeUsedIsNamedAndLeftOut) {
  const ByteRange weights = place_of(whole_file(), "weights");
  Bytes damaged = whole_file();
  spoil(damaged, {weights.offset, 1});
  MemoryFile file(damaged);
  Memory no_container(Bytes(100'000, std::byte{7}));
  Memory silent(whole_file());
  silent.most = 0;
  Memory good(whole_file());
  RepairOptions options;
  options.from = {"/nowhere/at/all.fatctx"};
  options.sources = {no_container.source(), silent.source()};

  const auto report = repaired(file, good, std::move(options));

  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(file.bytes() == whole_file());
  const auto& sources = report.value().sources;
  ASSERT_EQ(sources.size(), 4U);
  EXPECT_THAT(sources[0].problem, HasSubstr("No such file"));
  EXPECT_THAT(sources[1].problem, HasSubstr("not a fatctx container"));
  EXPECT_THAT(sources[2].problem, HasSubstr("none of the bytes"));
  EXPECT_EQ(sources[3].problem, "");
}

TEST(RepairSources, SourcesAreNotAskedForAFileThatIsWhole) {
  MemoryFile file(whole_file());
  Memory source(whole_file());

  const auto report = repaired(file, source);

  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(source.reads, 0);
  EXPECT_THAT(report.value().restored, IsEmpty());
  EXPECT_EQ(report.value().lacking_bytes, 0U);
}

TEST(RepairSources, ASourceThatGivesUpLeavesWhatCameAndARequestToStopEndsTheRepair) {
  const ByteRange weights = place_of(whole_file(), "weights");
  Bytes damaged = whole_file();
  spoil(damaged, {weights.offset, 6 * kLeaf});
  for (const ErrorCode code : {ErrorCode::kIo, ErrorCode::kCancelled}) {
    MemoryFile file(damaged);
    Memory memory(whole_file());
    RepairSource source = memory.source();
    source.read = [&memory, code, inner = source.read](const std::vector<ByteRange>& ranges, const TakeBytes& take) {
      if (ranges.front().offset < kLeaf || memory.given < 2 * kLeaf) {
        memory.most = ranges.front().offset < kLeaf ? UINT64_MAX : 2 * kLeaf;
        return inner(ranges, take);
      }
      return Status(Error{code, "the line is dead"});
    };
    RepairOptions options{.threads = 1};
    options.sources = {source};

    const auto report = repair_file(file, "m.fatctx", options);

    if (code == ErrorCode::kCancelled) {
      EXPECT_TRUE(fails_with(report, ErrorCode::kCancelled));
    } else {
      ASSERT_TRUE(is_ok(report));
      EXPECT_EQ(report.value().remaining.size(), 1U);
      EXPECT_THAT(report.value().sources[0].problem, HasSubstr("the line is dead"));
    }
    EXPECT_FALSE(file.bytes() == damaged) << "what came is kept";
    Memory good(whole_file());
    ASSERT_TRUE(is_ok(repaired(file, good)));
    EXPECT_TRUE(file.bytes() == whole_file());
    EXPECT_LE(good.given, allowed(whole_file(), {weights.offset, 4 * kLeaf})) << "only the rest is read again";
  }
}

TEST(RepairSources, AfterAnyFaultOfTheDiskGoodBytesAreAsBeforeAndARepairGoesOn) {
  const ByteRange weights = place_of(whole_file(), "weights");
  Bytes damaged = whole_file();
  spoil(damaged, {weights.offset + kLeaf, 300});
  zero(damaged, {weights.offset + 4 * kLeaf, kLeaf});
  damaged.resize(damaged.size() - kLeaf);
  // The bytes that no fault may change: those that are right, but for leaves with a wrong byte, and for the header, of
  // which a failed sync costs a copy.
  std::vector<bool> fixed(whole_file().size());
  for (std::size_t at = kHeaderSize; at < damaged.size(); ++at) fixed[at] = damaged[at] == whole_file()[at];
  const OpenedToc opened = read_toc(MemoryFile(whole_file()), whole_file().size()).value();
  for (const Segment& segment : opened.toc.segments) {
    if (!segment.holds_payload()) continue;
    for (std::uint64_t leaf = 0; leaf < segment.leaf_count(); ++leaf) {
      const auto first = fixed.begin() + static_cast<std::ptrdiff_t>(segment.offset + leaf * kLeaf);
      const auto end = first + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(kLeaf, segment.size - leaf * kLeaf));
      if (std::find(first, end, false) != end) std::fill(first, end, false);
    }
  }
  std::vector<ByteRange> ranges;
  std::uint64_t fixed_bytes = 0;
  for (std::size_t at = 0; at < fixed.size(); ++at) {
    if (!fixed[at]) continue;
    if (at == 0 || !fixed[at - 1]) ranges.push_back({at, 0});
    ++ranges.back().size;
    ++fixed_bytes;
  }
  ASSERT_GT(fixed_bytes, 20 * kLeaf);
  int faults = 0;
  for (const FileCall call : {FileCall::kWrite, FileCall::kSync}) {
    for (const bool for_ever : {false, true}) {
      for (std::uint64_t nth = 0;; ++nth) {
        MemoryFile file(damaged);
        file.fail(call, nth, for_ever);
        Memory source(whole_file());
        const auto report = repaired(file, source);
        if (report.ok()) break;
        ++faults;
        EXPECT_EQ(report.error().code, ErrorCode::kIo);

        const Bytes& now = file.bytes();
        ASSERT_GE(now.size(), damaged.size());
        for (const ByteRange& range : ranges) {
          ASSERT_EQ(std::memcmp(now.data() + range.offset, damaged.data() + range.offset, range.size), 0);
        }
        MemoryFile again(now);
        Memory same(whole_file());
        ASSERT_TRUE(is_ok(repaired(again, same)));
        EXPECT_TRUE(again.bytes() == whole_file());
      }
    }
  }
  EXPECT_GE(faults, 10);
}

// A read that fails hides bytes, or ends the repair. Nothing is reported as whole that is not.
TEST(RepairSources, AfterAnyReadThatFailsTheReportIsTrueAndARepairGoesOn) {
  const ByteRange weights = place_of(whole_file(), "weights");
  Bytes damaged = whole_file();
  spoil(damaged, {weights.offset + kLeaf, 300});
  for (const bool table_is_lost : {false, true}) {
    const OpenedToc opened = read_toc(MemoryFile(whole_file()), whole_file().size()).value();
    for (const std::uint64_t at : opened.header.toc_offset) {
      if (table_is_lost) spoil(damaged, {at, 8});
    }
    std::uint64_t errors = 0;
    for (const bool for_ever : {false, true}) {
      for (std::uint64_t nth = 0;; ++nth) {
        MemoryFile file(damaged);
        file.fail(FileCall::kRead, nth, for_ever);
        Memory source(whole_file());
        const auto report = repaired(file, source);
        if (file.calls(FileCall::kRead) <= nth) break;
        SCOPED_TRACE(std::to_string(nth) + (for_ever ? " and all later ones" : ""));
        if (!report.ok()) {
          ++errors;
          ASSERT_EQ(report.error().code, ErrorCode::kIo) << to_text(report.error());
        } else if (report.value().remaining.empty()) {
          ASSERT_TRUE(file.bytes() == whole_file());
        }
        MemoryFile again(file.bytes());
        Memory same(whole_file());
        ASSERT_TRUE(is_ok(repaired(again, same)));
        ASSERT_TRUE(again.bytes() == whole_file());
      }
    }
    EXPECT_GE(errors, 20U);
  }
}

TEST(RepairSources, ASyncThatFailsLeavesNoLeafThatOnlyTheCacheHas) {
  const ByteRange weights = place_of(whole_file(), "weights");
  Bytes damaged = whole_file();
  spoil(damaged, {weights.offset + kLeaf, kLeaf});
  MemoryFile clean(damaged);
  Memory source(whole_file());
  ASSERT_TRUE(is_ok(repaired(clean, source)));
  const std::uint64_t last = clean.calls(FileCall::kSync) - 1;
  MemoryFile file(damaged);
  file.fail(FileCall::kSync, last, true);

  EXPECT_TRUE(fails_with(repaired(file, source), ErrorCode::kIo));

  EXPECT_TRUE(std::all_of(file.bytes().begin() + static_cast<std::ptrdiff_t>(weights.offset + kLeaf),
                          file.bytes().begin() + static_cast<std::ptrdiff_t>(weights.offset + 2 * kLeaf),
                          [](std::byte b) { return b == std::byte{0}; }));
}

// Files on disk, with keys, and readers that have them mapped.
class RepairSourcesOnDisk : public ::testing::Test {
 protected:
  support::TempDir folder_;
  std::string path_ = folder_.file("m.fatctx");
  std::string whole_path_ = folder_.file("whole.fatctx");
};

TEST_F(RepairSourcesOnDisk, ViewsThatWereGoodDoNotChangeAndWhatWasBadCanBeRead) {
  support::write_file(whole_path_, whole_file());
  Bytes damaged = whole_file();
  const ByteRange weights = place_of(whole_file(), "weights");
  spoil(damaged, {weights.offset + 5, kLeaf});
  support::write_file(path_, damaged);
  const Container open = Container::open(path_).value();
  const auto good = open.acquire("cpu-x86-64-v2");
  ASSERT_TRUE(is_ok(good));
  const Bytes before(good.value().bytes().begin(), good.value().bytes().end());
  EXPECT_TRUE(fails_with(open.acquire("weights"), ErrorCode::kChecksumMismatch, "F26"));

  const auto report = repair(path_, {.from = {whole_path_}});

  ASSERT_TRUE(is_ok(report));
  EXPECT_THAT(report.value().remaining, IsEmpty());
  EXPECT_TRUE(std::ranges::equal(good.value().bytes(), before));
  const Container anew = Container::open(path_).value();
  const auto view = anew.acquire("weights");
  ASSERT_TRUE(is_ok(view));
  EXPECT_TRUE(std::ranges::equal(view.value().bytes(), support::pattern(kWeights, 99)));
  EXPECT_TRUE(is_ok(open.acquire("weights"))) << "a container that was open before the repair";
}

TEST_F(RepairSourcesOnDisk, TheFileItselfIsNoSource) {
  Bytes damaged = whole_file();
  spoil(damaged, {place_of(whole_file(), "weights").offset, 1});
  support::write_file(path_, damaged);

  const auto report = repair(path_, {.from = {path_}});

  ASSERT_TRUE(is_ok(report));
  EXPECT_THAT(report.value().sources.at(0).problem, HasSubstr("to be repaired"));
  EXPECT_EQ(report.value().remaining.size(), 1U);
}

TEST_F(RepairSourcesOnDisk, UnderAKeySha256DecidesAndWithoutOneTooWhereTheFileHasIt) {
  std::vector<PackRecord> all = records();
  Bytes& payload = all.back().source.bytes;
  support::make_forgeable(payload);
  const std::string plain = folder_.file("plain.fatctx");
  ASSERT_TRUE(is_ok(support::pack(std::move(all), plain)));
  const KeyFiles keys = make_keys(folder_.file("vendor")).value();
  const KeyFiles other_keys = make_keys(folder_.file("other")).value();
  ASSERT_TRUE(is_ok(sign_container(plain, keys.secret_path, whole_path_, {})));
  const Bytes whole = support::read_file(whole_path_);
  const ByteRange weights = place_of(whole, "weights");
  Bytes damaged = whole;
  spoil(damaged, {weights.offset + 100, 10});
  // Another payload with the same XXH3.
  const std::string forged = folder_.file("forged.fatctx");
  Bytes forgery = whole;
  support::forge(forgery, static_cast<std::size_t>(weights.offset));
  support::write_file(forged, forgery);

  for (const bool with_key : {true, false}) {
    RepairOptions options;
    if (with_key) options.trusted_keys = {keys.public_key};
    options.from = {forged};
    support::write_file(path_, damaged);
    const auto refused = repair(path_, options);
    ASSERT_TRUE(is_ok(refused));
    EXPECT_FALSE(refused.value().remaining.empty());
    EXPECT_TRUE(support::read_file(path_) == damaged);

    options.from = {forged, plain};  // unsigned, and its bytes are as good as their hashes say
    const auto mended = repair(path_, options);
    ASSERT_TRUE(is_ok(mended));
    EXPECT_THAT(mended.value().remaining, IsEmpty());
    EXPECT_TRUE(support::read_file(path_) == whole);
  }
  support::write_file(path_, damaged);
  EXPECT_TRUE(
      fails_with(repair(path_, {.from = {plain}, .trusted_keys = {other_keys.public_key}}), ErrorCode::kSignatureBad));
  EXPECT_TRUE(support::read_file(path_) == damaged);
}

TEST_F(RepairSourcesOnDisk, HashesThatNoSourceHasComeBackFromThePayload) {
  const std::string plain = folder_.file("plain.fatctx");
  ASSERT_TRUE(is_ok(support::pack(records(), plain)));
  const KeyFiles keys = make_keys(folder_.file("vendor")).value();
  ASSERT_TRUE(is_ok(sign_container(plain, keys.secret_path, whole_path_, {})));
  const Bytes whole = support::read_file(whole_path_);
  Bytes damaged = whole;
  const OpenedToc opened = read_toc(MemoryFile(whole), whole.size()).value();
  for (const Segment& segment : opened.toc.segments) {
    if (segment.kind == SegmentKind::kLeaves && segment.hash_algorithm == kHashSha256) {
      zero(damaged, {segment.offset, segment.size});
    }
  }
  spoil(damaged, {place_of(whole, "weights").offset, 2 * kLeaf});
  support::write_file(path_, damaged);

  const auto report = repair(path_, {.from = {plain}});  // which has no SHA-256

  ASSERT_TRUE(is_ok(report));
  EXPECT_THAT(report.value().remaining, IsEmpty());
  EXPECT_TRUE(support::read_file(path_) == whole);
}

}  // namespace repair_sources_test
}  // namespace fatctx::container
