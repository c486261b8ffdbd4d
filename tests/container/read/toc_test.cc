// The table of contents: legal but unusual ones, every reserved bit, and random hostile tables, which are accepted only
// if they keep every promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "container/check/verify.h"
#include "container/read/lies_toc.h"
#include "container/read/open.h"
#include "container/read/pieces.h"
#include "container/read/record_stream.h"
#include "support/large_form.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace toc_test {

using support::Bytes;
using support::fails_with;
using support::HostileFile;
using support::is_ok;
using support::MemoryFile;

Result<OpenedToc> open_bytes(const Bytes& bytes) {
  const MemoryFile file(bytes);
  return read_toc(file, bytes.size());
}

Result<OpenedToc> open_changed(void (*change)(HostileFile&)) {
  HostileFile file(support::unsealed_sample());
  change(file);
  return open_bytes(file.bytes());
}

TEST(Toc, HandsOutRecordsOfSeveralSlicesAndReadsRecipes) {
  const auto add = [](HostileFile& f) -> RecordEntry& {
    auto& record = f.append_record(RecordType::kOpaque, 2, 4096 + 100);
    f.append_slice(5, 8192, 4096);
    f.append_slice(5, 4096, 100);
    return record;
  };
  HostileFile plain(support::unsealed_sample());
  (void)add(plain);
  HostileFile recipe(support::unsealed_sample());
  auto& entry = recipe.append_record(RecordType::kOpaque, 2, 100 + recipe.segments[5].size);
  entry.flags = kRecordRecipe;
  entry.codec = kCodecLz4Frame;
  entry.logical_size = kMaxColdRecordSize + 1;
  recipe.append_slice(0, 3, 100);
  recipe.append_slice(5, 0, recipe.segments[5].size);
  const auto pieces = open_bytes(plain.bytes());
  ASSERT_TRUE(is_ok(pieces));
  EXPECT_TRUE(pieces.value().toc.records.back().supported);
  const auto program = open_bytes(recipe.bytes());
  ASSERT_TRUE(is_ok(program));
  const RecordInfo& made = program.value().toc.records.back();
  EXPECT_TRUE(made.supported);
  EXPECT_TRUE(made.recipe);
  EXPECT_EQ(made.codec, Codec::kNone) << "what is compressed is the program";
  EXPECT_FALSE(pieces.value().toc.records.back().recipe);
  EXPECT_TRUE(pieces_of(program.value().toc, made).empty()) << "its slices are not its bytes";
}

TEST(Toc, ListsWhatItCannotHandOut) {
  struct Row {
    const char* name;
    void (*change)(HostileFile&);
    const char* why;
  };
  const Row rows[] = {
      {"a recipe whose program has an unknown codec",
       [](auto& f) {
         auto& record = f.append_record(RecordType::kOpaque, 1, 100);
         record.flags = kRecordRecipe | kRecordIgnorable;
         record.codec = 9;
         record.logical_size = std::uint64_t{1} << 33;
         f.append_slice(0, 0, 100);
       },
       "compressed"},
      {"an unknown codec of an ignorable record",
       [](auto& f) {
         auto& record = f.append_record(RecordType::kSourceModel, 1, 100);
         record.codec = 9;
         record.flags = kRecordIgnorable;
         f.append_slice(5, 0, 100);
       },
       "compressed"},
      {"an unknown type of an ignorable record",
       [](auto& f) {
         auto& record = f.append_record(static_cast<RecordType>(99), 1, 100);
         record.flags = kRecordIgnorable;
         f.append_slice(5, 0, 100);
       },
       "unknown"},
  };
  for (const Row& row : rows) {
    const auto opened = open_changed(row.change);

    ASSERT_TRUE(is_ok(opened)) << row.name;
    const Toc& toc = opened.value().toc;
    ASSERT_EQ(toc.records.size(), 8U) << row.name;
    EXPECT_FALSE(toc.records[7].supported) << row.name;
    const auto status = check_supported(toc.records[7], toc.forms[7]);
    ASSERT_TRUE(fails_with(status, ErrorCode::kUnsupported)) << row.name;
    EXPECT_NE(status.error().message.find(row.why), std::string::npos) << status.error().message;
    for (std::size_t i = 0; i < 7; ++i) EXPECT_TRUE(toc.records[i].supported) << row.name;
  }
}

TEST(Toc, AnLz4FrameAtItsLimitOfExpansionIsReadableAndHasNoView) {
  const auto opened = open_changed([](auto& f) {
    auto& record = f.append_record(RecordType::kSourceModel, 1, 100);
    record.codec = kCodecLz4Frame;
    record.logical_size = 100 * kMaxExpansion + kExpansionSlack;
    f.append_slice(5, 0, 100);
  });

  ASSERT_TRUE(is_ok(opened));
  const Toc& toc = opened.value().toc;
  EXPECT_TRUE(toc.records[7].supported);
  EXPECT_EQ(toc.records[7].codec, Codec::kLz4);
  EXPECT_TRUE(is_ok(check_readable(toc.records[7], toc.forms[7])));
  EXPECT_TRUE(fails_with(check_supported(toc.records[7], toc.forms[7]), ErrorCode::kUnsupported));
}

TEST(Toc, DeadBytesAndTheGapsOfTheirLeavesAreLegalInAnUnsealedFile) {
  const auto opened = open_changed([](auto& f) { f.insert_segment(SegmentKind::kDead, 70'000); });
  const auto with_gap = open_changed([](auto& f) {
    // Segment 1 becomes dead: its leaf stays behind as a gap, its record is removed.
    f.segments[1].kind = static_cast<std::uint16_t>(SegmentKind::kDead);
    f.segments[1].leaves_segment = kNoSegment;
    f.segments[1].first_leaf = 0;
    f.segments[1].leaves_hash = {};
    f.records.erase(f.records.begin());
    f.slices.erase(f.slices.begin());
    f.keys.erase(f.keys.begin());
    f.references.erase(f.references.begin());
    for (auto& record : f.records) record.first_slice = record.first_slice - 1;
    // The removed record's names would be unused, so other keys take them.
    f.keys[0].part = f.name("aarch64");
    f.keys[0].variant = f.name("cpu-aarch64");
    f.keys[1].part = f.keys[2].part = f.name("dotprod,i8mm");
  });

  ASSERT_TRUE(is_ok(opened));
  EXPECT_EQ(opened.value().toc.segments[7].kind, SegmentKind::kDead);
  ASSERT_TRUE(is_ok(with_gap));
  EXPECT_EQ(with_gap.value().toc.records.size(), 6U);
}

TEST(Toc, EarlierGenerationsAreListedWithoutBeingLookedAt) {
  const auto opened = open_changed([](auto& f) {
    f.live.generation = f.head.generation = 3;
    f.other.generation = 2;
    f.segments[1].generation = 3;
    f.segments[2].generation = 2;
    f.generations.push_back(generation_row(1, 0x10000, 400, 0x20000));
    f.generations.push_back(generation_row(2, 0x10000, 0x8000, f.live.committed_end));
  });

  ASSERT_TRUE(is_ok(opened));
  EXPECT_EQ(opened.value().header.generation, 3U);
}

TEST(Toc, ARecordWithoutKeyIsLegal) {
  const auto opened = open_changed([](auto& f) {
    f.append_record(RecordType::kOpaque, 1, 17);
    f.append_slice(5, 3, 17);
  });

  ASSERT_TRUE(is_ok(opened));
  const RecordInfo& record = opened.value().toc.records[7];
  EXPECT_TRUE(record.supported);
  EXPECT_EQ(record.key.type, RecordType::kOpaque);
  EXPECT_EQ(record.file_offset, opened.value().toc.segments[5].offset + 3);
}

TEST(Toc, SegmentsMayAskForMoreAlignmentThanTheFile) {
  PackOptions options;
  options.extent_log2 = 21;
  const Bytes large = support::packed_bytes(support::cpu_records(), options);

  const auto opened = open_bytes(large);

  ASSERT_TRUE(is_ok(opened));
  EXPECT_EQ(opened.value().header.extent_log2, 21U);
  for (const Segment& segment : opened.value().toc.segments) {
    EXPECT_EQ(segment.offset % (std::uint64_t{1} << 21), 0U);
  }
}

// Sets every bit of `from`..`to` of every row of `which` in turn.
void expect_reserved(const OpenedToc& good, Table which, std::size_t row_size, std::size_t from, std::size_t to) {
  Bytes toc(good.toc.bytes.begin(), good.toc.bytes.end());
  const auto directory = support::struct_at<DirectoryEntry>(
      toc, sizeof(TocHeader) + static_cast<std::size_t>(which) * sizeof(DirectoryEntry));
  ASSERT_GT(directory.count, 0U);
  for (std::uint64_t row = 0; row < directory.count; ++row) {
    for (std::size_t at = from; at < to; ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        std::byte& byte = toc[static_cast<std::size_t>(directory.offset + row * row_size) + at];
        byte ^= static_cast<std::byte>(1U << bit);
        const auto parsed = parse_toc(toc, good.header, 0);
        ASSERT_TRUE(fails_with(parsed, ErrorCode::kMalformed, "F20"))
            << "table " << static_cast<int>(which) << " row " << row << " byte " << at << " bit " << bit;
        byte ^= static_cast<std::byte>(1U << bit);
      }
    }
  }
}

TEST(Toc, EveryReservedBitOfEveryRowIsRefused) {
  HostileFile file(support::unsealed_sample());
  file.live.generation = file.head.generation = 2;
  file.other.generation = 1;
  file.generations.push_back(generation_row(1, 0x10000, 400, 0x20000));
  const auto good = open_bytes(file.bytes());
  ASSERT_TRUE(is_ok(good));
  const OpenedToc& toc = good.value();

  expect_reserved(toc, Table::kSegments, sizeof(SegmentEntry), offsetof(SegmentEntry, reserved0),
                  offsetof(SegmentEntry, offset));
  expect_reserved(toc, Table::kSegments, sizeof(SegmentEntry), offsetof(SegmentEntry, reserved1),
                  offsetof(SegmentEntry, leaves_hash));
  expect_reserved(toc, Table::kRecords, sizeof(RecordEntry), offsetof(RecordEntry, flags) + 1,
                  offsetof(RecordEntry, codec));
  expect_reserved(toc, Table::kRecords, sizeof(RecordEntry), offsetof(RecordEntry, reserved0),
                  offsetof(RecordEntry, name));
  expect_reserved(toc, Table::kSlices, sizeof(SliceEntry), offsetof(SliceEntry, reserved),
                  offsetof(SliceEntry, offset_in_segment));
  expect_reserved(toc, Table::kKeys, sizeof(KeyEntry), offsetof(KeyEntry, flags) + 1, offsetof(KeyEntry, group));
  expect_reserved(toc, Table::kReferences, sizeof(ReferenceEntry), offsetof(ReferenceEntry, role),
                  offsetof(ReferenceEntry, bound_hash));
}

// Checks the promises of an accepted table of contents to its users, from outside the parser.
void expect_promises(const OpenedToc& opened) {
  const Toc& toc = opened.toc;
  const std::uint64_t end = opened.header.committed_end;
  std::vector<ByteRange> extents = {{0, kHeaderSize},
                                    {opened.header.toc_offset[0], opened.header.toc_size},
                                    {opened.header.toc_offset[1], opened.header.toc_size}};
  for (const Segment& segment : toc.segments) {
    ASSERT_TRUE(within({segment.offset, segment.size}, end));
    extents.push_back({segment.offset, segment.size});
    if (segment.leaves_segment == kNoSegment) continue;
    ASSERT_LT(segment.leaves_segment, toc.segments.size());
    const Segment& leaves = toc.segments[segment.leaves_segment];
    ASSERT_TRUE(within({segment.first_leaf * 16, leaf_units(segment.leaf_count()) * 16}, leaves.size));
  }
  for (std::size_t i = 0; i < extents.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      ASSERT_TRUE(extents[i].offset + extents[i].size <= extents[j].offset ||
                  extents[j].offset + extents[j].size <= extents[i].offset)
          << "extents overlap";
    }
  }
  ASSERT_EQ(toc.records.size(), toc.forms.size());
  for (std::size_t i = 0; i < toc.records.size(); ++i) {
    const RecordInfo& record = toc.records[i];
    ASSERT_EQ(toc.find(record.id), &record);
    ASSERT_FALSE(record.name.empty());
    ASSERT_TRUE(within({toc.forms[i].first_slice, record.slice_count}, toc.slices.size()));
    std::uint64_t stored = 0;
    for (std::uint32_t s = 0; s < record.slice_count; ++s) {
      const Slice& slice = toc.slices[toc.forms[i].first_slice + s];
      ASSERT_LT(slice.segment, toc.segments.size());
      ASSERT_TRUE(within(slice.range, toc.segments[slice.segment].size));
      stored += slice.range.size;
    }
    ASSERT_EQ(stored, record.stored_bytes);
    if (record.supported && record.codec == Codec::kNone) {
      ASSERT_EQ(record.stored_bytes, record.size_bytes);
    }
    for (const std::uint32_t weights : record.weights) {
      ASSERT_NE(toc.find(weights), nullptr);
      ASSERT_EQ(toc.find(weights)->type, RecordType::kWeightBlob);
    }
  }
  ASSERT_EQ(std::count_if(toc.records.begin(), toc.records.end(),
                          [](const RecordInfo& record) { return record.type == RecordType::kDescription; }),
            1);
}

TEST(Toc, AfterAnyFlippedBitItIsRefusedOrKeepsItsPromises) {
  const auto good = open_bytes(support::unsealed_sample());
  ASSERT_TRUE(is_ok(good));
  Bytes toc(good.value().toc.bytes.begin(), good.value().toc.bytes.end());
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < toc.size() * 8; ++bit) {
    toc[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    auto parsed = parse_toc(toc, good.value().header, 0);
    toc[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    if (!parsed.ok()) {
      ASSERT_FALSE(parsed.error().where.rule.empty()) << to_text(parsed.error());
      ASSERT_TRUE(parsed.error().where.file_offset.has_value()) << to_text(parsed.error());
      continue;
    }
    ++accepted;
    ASSERT_NO_FATAL_FAILURE(expect_promises({good.value().header, std::move(parsed).value()})) << bit;
  }
  EXPECT_GT(accepted, 100U) << "hashes and facts for selection, at least, may have any value";
}

TEST(Toc, AfterRandomChangesItIsRefusedOrKeepsItsPromises) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto good = open_bytes(support::unsealed_sample());
  ASSERT_TRUE(is_ok(good));
  const Bytes original(good.value().toc.bytes.begin(), good.value().toc.bytes.end());
  const std::uint64_t edges[] = {0, 1, 2, 0xffff, 0x10000, 0xffffffff, std::uint64_t{1} << 47, UINT64_MAX};
  std::size_t accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    Bytes toc = original;
    for (std::uint64_t change = 0; change <= random() % 4; ++change) {
      // A field of 1, 2, 4 or 8 bytes gets an extreme value, a neighbor, or another field's value.
      const std::size_t width = std::size_t{1} << random() % 4;
      const std::size_t at = random() % (toc.size() - 8) / width * width;
      le64 value;
      std::memcpy(&value, toc.data() + at, width);
      switch (random() % 3) {
        case 0:
          value = edges[random() % std::size(edges)];
          break;
        case 1:
          value = random() % 2 == 0 ? value + 1 : value - 1;
          break;
        default:
          std::memcpy(&value, toc.data() + random() % (toc.size() - 8), width);
      }
      std::memcpy(toc.data() + at, &value, width);
    }
    auto parsed = parse_toc(std::move(toc), good.value().header, 0);
    if (!parsed.ok()) continue;
    ++accepted;
    ASSERT_NO_FATAL_FAILURE(expect_promises({good.value().header, std::move(parsed).value()})) << round;
  }
  EXPECT_GT(accepted, 0U);
}

TEST(Toc, NoPrefixOfItIsATableOfContents) {
  const auto good = open_bytes(support::unsealed_sample());
  ASSERT_TRUE(is_ok(good));
  for (std::size_t size = 0; size < good.value().toc.bytes.size(); ++size) {
    Bytes prefix(good.value().toc.bytes.begin(), good.value().toc.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_FALSE(parse_toc(std::move(prefix), good.value().header, 0).ok()) << size;
  }
}

TEST(Toc, ATensorTableAboveItsLimitIsRefusedBeforeMemoryIsTaken) {
  OpenedToc opened = open_bytes(support::unsealed_sample()).value();
  RecordInfo& table = opened.toc.records[5];
  ASSERT_EQ(table.type, RecordType::kTensorTable);
  table.size_bytes = std::uint64_t{1} << 46;
  const MemoryFile file(support::unsealed_sample());

  const auto bytes = read_metadata_record(file, opened.toc, table, WorkBudget(opened.toc));

  EXPECT_TRUE(fails_with(bytes, ErrorCode::kLimitExceeded, "F33"));
}

}  // namespace toc_test
}  // namespace fatctx::container
