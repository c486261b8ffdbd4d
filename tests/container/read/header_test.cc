// The generation that a header leads to, and the losses that it reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "container/read/lies_header.h"
#include "container/read/open.h"
#include "support/large_form.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace header_test {

using support::Bytes;
using support::fails_with;
using support::HostileFile;
using support::is_ok;
using support::MemoryFile;

Result<Header> header_of(const Bytes& file) { return parse_header(ByteView(file).first(kHeaderSize), file.size()); }

// Returns a file with both pairs live: A holds generation `a`, B generation `b`.
Bytes two_generations(std::uint64_t a, std::uint64_t b) {
  HostileFile file(support::unsealed_sample());
  file.live.generation = a;
  file.head.generation = a;
  file.in_header = [b](Bytes& bytes) {
    for (const std::size_t index : {std::size_t{1}, std::size_t{3}}) {
      auto slot = support::struct_at<Slot>(bytes, kSlotOffsets[0]);
      slot.slot_index = static_cast<std::uint8_t>(index);
      slot.generation = b;
      support::put_struct(bytes, kSlotOffsets[index], slot);
    }
  };
  return file.bytes();
}

TEST(Header, AFreshFileIsGenerationOneInPairA) {
  const auto header = header_of(support::unsealed_sample());

  ASSERT_TRUE(is_ok(header));
  EXPECT_EQ(header.value().generation, 1U);
  EXPECT_EQ(header.value().pair, 0U);
  EXPECT_EQ(header.value().degraded, 0U);
  EXPECT_EQ(header.value().committed_end, support::unsealed_sample().size());
  EXPECT_EQ(header.value().tail_bytes, 0U);
  EXPECT_FALSE(header.value().sealed);
}

// From 1.0 on, a minor version has the layout of its major version; new features have a feature bit.
TEST(Header, ALaterMinorVersionOpensAndSaysWhichItIs) {
  HostileFile file(support::unsealed_sample());
  file.prologue.minor_version = kMinorVersion + 7;

  const auto header = header_of(file.bytes());

  ASSERT_TRUE(is_ok(header));
  EXPECT_EQ(header.value().format_version, "1.7");
}

TEST(Header, AnUnknownMajorVersionSaysWhatToDo) {
  HostileFile newer(support::unsealed_sample());
  newer.prologue.major_version = 2;
  HostileFile older(support::unsealed_sample());
  older.prologue.major_version = 0, older.prologue.minor_version = 2;

  EXPECT_THAT(header_of(newer.bytes()).error().message,
              testing::HasSubstr("format version 2.0; this library reads 1.x: update the library"));
  EXPECT_THAT(header_of(older.bytes()).error().message,
              testing::HasSubstr("format version 0.2; this library reads 1.x: pack the file again"));
}

TEST(Header, TheHigherOfTwoGenerationsIsOpenedWhereverItStands) {
  const auto in_b = header_of(two_generations(7, 8));
  const auto in_a = header_of(two_generations(8, 7));

  ASSERT_TRUE(is_ok(in_b));
  EXPECT_EQ(in_b.value().generation, 8U);
  EXPECT_EQ(in_b.value().pair, 1U);
  ASSERT_TRUE(is_ok(in_a));
  EXPECT_EQ(in_a.value().generation, 8U);
  EXPECT_EQ(in_a.value().pair, 0U);
}

TEST(Header, GenerationsThatDoNotFollowEachOtherAreRefused) {
  EXPECT_TRUE(fails_with(header_of(two_generations(7, 7)), ErrorCode::kMalformed, "F9"));
  EXPECT_TRUE(fails_with(header_of(two_generations(7, 9)), ErrorCode::kMalformed, "F9"));
  EXPECT_TRUE(fails_with(header_of(two_generations(9, 7)), ErrorCode::kMalformed, "F9"));
  EXPECT_TRUE(fails_with(header_of(two_generations(1, UINT64_MAX)), ErrorCode::kMalformed, "F9"));
}

// After a failed sync, the page cache may show a pair that the disk does not have; later appends write the pairs in
// turn.
TEST(Header, ANewerPairIsOpenedBesideOneThatFailedSyncsLeftBehind) {
  for (const auto& [a, b] : {std::pair(4U, 1U), std::pair(1U, 4U), std::pair(6U, 1U), std::pair(2U, 11U)}) {
    const auto header = header_of(two_generations(a, b));

    ASSERT_TRUE(is_ok(header)) << a << " and " << b;
    EXPECT_EQ(header.value().generation, std::max(a, b));
    EXPECT_EQ(degraded_texts(header.value().degraded), std::vector<std::string>{"older slot pair"});
  }
}

TEST(Header, ASealedGenerationHasNoPairThatWasLeftBehind) {
  HostileFile file(support::sealed_sample());
  file.live.generation = 4;
  file.head.generation = 4;
  EXPECT_TRUE(fails_with(header_of(file.bytes()), ErrorCode::kMalformed, "F9"));
}

TEST(Header, WithOnePairLostTheOtherIsOpenedAndTheLossIsSaid) {
  Bytes file = two_generations(8, 7);
  file[static_cast<std::size_t>(kSlotOffsets[0])] ^= std::byte{1};
  file[static_cast<std::size_t>(kSlotOffsets[2]) + 100] ^= std::byte{1};

  const auto header = header_of(file);

  ASSERT_TRUE(is_ok(header));
  EXPECT_EQ(header.value().generation, 7U);
  EXPECT_EQ(degraded_texts(header.value().degraded), (std::vector<std::string>{"slot A0", "slot A1"}));
}

TEST(Header, OneGoodMirrorOfAPairIsEnough) {
  for (std::size_t index = 0; index < kSlotOffsets.size(); ++index) {
    Bytes file = two_generations(7, 8);
    file[static_cast<std::size_t>(kSlotOffsets[index]) + 300] ^= std::byte{0x80};

    const auto header = header_of(file);

    ASSERT_TRUE(is_ok(header)) << index;
    EXPECT_EQ(header.value().generation, 8U);
    EXPECT_EQ(header.value().degraded, std::uint32_t{kDegradedSlotA0} << index);
  }
}

// Returns a file with generation 7 in pair A. Mirror 1 of pair B is as an append meant it, mirror 3 as `older` changed
// it.
template <typename Older>
Bytes interrupted(const Older& older) {
  Bytes file = two_generations(7, 8);
  auto slot = support::struct_at<Slot>(file, kSlotOffsets[3]);
  older(slot);
  support::put_struct(file, kSlotOffsets[3], slot);
  support::rehash_header(file);
  return file;
}

TEST(Header, OfTwoMirrorsThatACrashLeftTheNewerCounts) {
  const auto before = [](Slot& slot) { slot.generation = 6; };
  const auto long_before = [](Slot& slot) { slot.generation = 2; };
  const auto earlier_attempt = [](Slot& slot) { slot.committed_end = slot.committed_end - 65'536; };
  for (const Bytes& file : {interrupted(before), interrupted(long_before), interrupted(earlier_attempt)}) {
    Bytes other_way_round = file;
    auto newer = support::struct_at<Slot>(file, kSlotOffsets[1]);
    auto older = support::struct_at<Slot>(file, kSlotOffsets[3]);
    std::swap(newer.slot_index, older.slot_index);
    support::put_struct(other_way_round, kSlotOffsets[1], older);
    support::put_struct(other_way_round, kSlotOffsets[3], newer);
    support::rehash_header(other_way_round);
    const auto first = header_of(file);
    ASSERT_TRUE(is_ok(first));
    EXPECT_EQ(first.value().generation, 8U);
    EXPECT_EQ(first.value().committed_end, std::uint64_t{newer.committed_end});
    EXPECT_EQ(degraded_texts(first.value().degraded), std::vector<std::string>{"slot B1"});
    const auto second = header_of(other_way_round);
    ASSERT_TRUE(is_ok(second));
    EXPECT_EQ(second.value().generation, 8U);
    EXPECT_EQ(second.value().committed_end, std::uint64_t{newer.committed_end});
    EXPECT_EQ(degraded_texts(second.value().degraded), std::vector<std::string>{"slot B0"});
  }
}

TEST(Header, MirrorsThatNoCrashLeavesAreRefused) {
  const std::vector<void (*)(Slot&)> lies = {
      [](Slot& slot) { slot.generation = 5; },
      [](Slot& slot) { slot.generation = 7; },
      [](Slot& slot) { slot.toc_size = slot.toc_size + 1; },
      [](Slot& slot) { slot.flags = kSlotSealed; },
      [](Slot& slot) {
        slot.generation = 6;
        slot.flags = kSlotSealed;
      },
  };
  for (const auto lie : lies) EXPECT_TRUE(fails_with(header_of(interrupted(lie)), ErrorCode::kMalformed, "F8"));
}

TEST(Header, ASlotCopiedToAnotherPlaceOrFileIsDamage) {
  const Bytes good = two_generations(7, 8);
  const Bytes& stranger = support::sealed_sample();
  for (std::size_t to = 0; to < kSlotOffsets.size(); ++to) {
    for (std::size_t from = 0; from < kSlotOffsets.size(); ++from) {
      for (const Bytes* source : {&good, &stranger}) {
        if (source == &good && from == to) continue;
        Bytes file = good;
        std::copy_n(source->begin() + static_cast<std::ptrdiff_t>(kSlotOffsets[from]), kSectorSize,
                    file.begin() + static_cast<std::ptrdiff_t>(kSlotOffsets[to]));

        const auto header = header_of(file);

        ASSERT_TRUE(is_ok(header)) << from << " to " << to;
        EXPECT_EQ(header.value().generation, 8U);
        EXPECT_EQ(header.value().degraded, std::uint32_t{kDegradedSlotA0} << to);
      }
    }
  }
}

TEST(Header, FeaturesThatForbidChangesOrNothingDoNotForbidReading) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    HostileFile changing(support::unsealed_sample());
    changing.prologue.ro_compat_features = std::uint64_t{1} << bit;
    HostileFile nothing(support::unsealed_sample());
    nothing.prologue.compat_features = std::uint64_t{1} << bit;
    HostileFile reading(support::unsealed_sample());
    reading.prologue.incompat_features = std::uint64_t{1} << bit;

    EXPECT_TRUE(is_ok(header_of(changing.bytes())));
    EXPECT_TRUE(is_ok(header_of(nothing.bytes())));
    EXPECT_TRUE(fails_with(header_of(reading.bytes()), ErrorCode::kUnsupported, "F3"));
  }
}

TEST(Header, EveryAlignmentButTheLegalOnesIsRefused) {
  for (unsigned value = 0; value < 256; ++value) {
    HostileFile extent(support::unsealed_sample());
    extent.prologue.extent_log2 = static_cast<std::uint8_t>(value);
    HostileFile granule(support::unsealed_sample());
    granule.prologue.granule_log2 = static_cast<std::uint8_t>(value);

    EXPECT_EQ(header_of(extent.bytes()).ok(), value == 16 || value == 21) << value;
    EXPECT_EQ(header_of(granule.bytes()).ok(), value == 12 || value == 14 || value == 16) << value;
  }
}

TEST(Header, BytesBehindTheEndAreATailOfAnUnsealedFile) {
  Bytes file = support::unsealed_sample();
  file.insert(file.end(), 4097, std::byte{0xee});

  const auto header = header_of(file);

  ASSERT_TRUE(is_ok(header));
  EXPECT_EQ(header.value().tail_bytes, 4097U);
  EXPECT_EQ(header.value().committed_end, support::unsealed_sample().size());
}

TEST(Header, EveryReservedBitOfItsPagesIsRefused) {
  // A range of bytes of a page that must be zero: of a prologue, of a live slot, or of a VOID slot.
  struct Range {
    std::uint64_t page;
    std::size_t from;
    std::size_t to;
    std::string_view rule;
  };
  const Range ranges[] = {
      {kPrologueOffsets[0], offsetof(Prologue, reserved0), offsetof(Prologue, incompat_features), "F20"},
      {kPrologueOffsets[1], offsetof(Prologue, reserved1), offsetof(Prologue, page_hash), "F20"},
      {kSlotOffsets[0], offsetof(Slot, reserved0), offsetof(Slot, uuid), "F20"},
      {kSlotOffsets[2], offsetof(Slot, toc_sha256), offsetof(Slot, previous_toc_hash), "F43"},
      {kSlotOffsets[0], offsetof(Slot, previous_toc_sha256), offsetof(Slot, reserved1), "F43"},
      {kSlotOffsets[0], offsetof(Slot, reserved1), offsetof(Slot, page_hash), "F20"},
      {kSlotOffsets[1], offsetof(Slot, committed_end), offsetof(Slot, toc_sha256), "F8"},
      {kSlotOffsets[3], offsetof(Slot, reserved1), offsetof(Slot, page_hash), "F20"},
  };
  Bytes file = support::unsealed_sample();
  file.resize(static_cast<std::size_t>(kHeaderSize));
  const std::uint64_t size = support::unsealed_sample().size();
  const auto uuid = support::struct_at<Prologue>(file, 0).uuid;
  for (const Range& range : ranges) {
    const auto slot = static_cast<std::uint8_t>(std::find(kSlotOffsets.begin(), kSlotOffsets.end(), range.page) -
                                                kSlotOffsets.begin());
    const std::uint64_t seed = slot < kSlotOffsets.size() ? slot_seed(uuid, slot) : 0;
    for (std::size_t at = range.from; at < range.to; ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        const auto place = static_cast<std::size_t>(range.page) + at;
        file[place] ^= static_cast<std::byte>(1U << bit);
        support::rehash_sector(file, range.page, seed);

        ASSERT_TRUE(fails_with(parse_header(file, size), ErrorCode::kMalformed, range.rule)) << place << " " << bit;

        file[place] ^= static_cast<std::byte>(1U << bit);
        support::rehash_sector(file, range.page, seed);
      }
    }
  }
  EXPECT_TRUE(is_ok(parse_header(file, size)));
}

TEST(Header, ReadingStopsAtTheFirstFault) {
  MemoryFile broken(support::unsealed_sample());
  broken.fail(support::FileCall::kRead, 0, true);
  EXPECT_TRUE(fails_with(read_toc(broken, broken.size()), ErrorCode::kIo));
  EXPECT_EQ(broken.calls(support::FileCall::kRead), 1U);

  MemoryFile shrunk(support::unsealed_sample());
  shrunk.cut_before_read(0, 1000);
  EXPECT_TRUE(fails_with(read_toc(shrunk, support::unsealed_sample().size()), ErrorCode::kTruncated));
}

TEST(Header, ATocCopyThatCannotBeReadIsADamagedOne) {
  MemoryFile once(support::unsealed_sample());
  once.fail(support::FileCall::kRead, 4, false);
  const auto opened = read_toc(once, once.size());
  ASSERT_TRUE(is_ok(opened));
  EXPECT_EQ(degraded_texts(opened.value().header.degraded), std::vector<std::string>{"toc copy 0"});

  MemoryFile twice(support::unsealed_sample());
  twice.fail(support::FileCall::kRead, 4, true);
  EXPECT_TRUE(fails_with(read_toc(twice, twice.size()), ErrorCode::kIo));
}

TEST(Header, AnOpenReadsHeaderAndOneTocAndNothingElse) {
  MemoryFile file(support::unsealed_sample());

  const auto opened = read_toc(file, file.size());

  ASSERT_TRUE(is_ok(opened));
  EXPECT_EQ(file.calls(support::FileCall::kRead), 5U);
  constexpr std::uint64_t kSectors = 0x1200 + 0x200 + 0x1200 + 0x200;  // and their neighbours
  EXPECT_EQ(file.bytes_read(), kSectors + opened.value().header.toc_size);
}

}  // namespace header_test
}  // namespace fatctx::container
