// `--sharing pages` from records to a file: every record is complete in its slices, in any order of packing.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "container/format/hash.h"
#include "container/read/open.h"
#include "support/chip_corpus.h"
#include "support/chip_files.h"
#include "support/memory_file.h"
#include "support/peak_memory.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/sanitized.h"

namespace fatctx {
namespace pack_pages_test {

using container::OpenedToc;
using container::Slice;
using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::pack;
using support::TempDir;

PackOptions by_pages(std::uint8_t granule_log2 = 12) {
  PackOptions options;
  options.sharing = Sharing::kPages;
  options.granule_log2 = granule_log2;
  return options;
}

std::vector<PackRecord> chip_records(const std::vector<Bytes>& chips) {
  std::vector<PackRecord> records;
  for (std::size_t i = 0; i < chips.size(); ++i) {
    records.push_back(support::binary_record("chip" + std::to_string(i), "v" + std::to_string(60 + i), chips[i]));
  }
  return records;
}

struct Packed {
  Bytes file;
  OpenedToc toc;

  [[nodiscard]] const RecordInfo& record(const std::string& name) const {
    return *std::find_if(toc.toc.records.begin(), toc.toc.records.end(),
                         [&](const RecordInfo& record) { return record.name == name; });
  }
  [[nodiscard]] std::vector<Slice> slices(const RecordInfo& record) const {
    const auto first = toc.toc.slices.begin() + toc.toc.forms[toc.toc.index_of(record)].first_slice;
    return {first, first + record.slice_count};
  }
  [[nodiscard]] Bytes bytes_of(const Slice& slice) const {
    const std::uint64_t offset = toc.toc.segments[slice.segment].offset + slice.range.offset;
    const auto from = file.begin() + static_cast<std::ptrdiff_t>(offset);
    return {from, from + static_cast<std::ptrdiff_t>(slice.range.size)};
  }
  [[nodiscard]] Bytes rebuilt(const RecordInfo& record) const {
    Bytes bytes;
    for (const Slice& slice : slices(record)) {
      const Bytes piece = bytes_of(slice);
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    return bytes;
  }
};

Packed opened(Bytes bytes) {
  support::MemoryFile file(bytes);
  auto toc = container::read_toc(file, bytes.size());
  EXPECT_TRUE(is_ok(toc));
  return {std::move(bytes), std::move(toc).value()};
}

void expect_rebuilt(const Packed& packed, const std::vector<PackRecord>& records) {
  const std::size_t granule = std::size_t{1} << packed.toc.header.granule_log2;
  for (const PackRecord& given : records) {
    SCOPED_TRACE(given.name);
    const RecordInfo& record = packed.record(given.name);
    EXPECT_TRUE(packed.rebuilt(record) == given.source.bytes);
    EXPECT_EQ(record.hash, container::hash128(given.source.bytes));
    if (record.slice_count < 2) continue;
    const Slice last = packed.slices(record).back();
    std::uint64_t end = packed.toc.toc.segments[last.segment].offset + last.range.offset + last.range.size;
    for (; end % granule != 0; ++end) {
      EXPECT_EQ(packed.file[static_cast<std::size_t>(end)], std::byte{0}) << "a host maps it behind the record";
    }
  }
}

TEST(PackPages, EveryRecordIsInItsSlices) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto corpus =
        support::make_chip_corpus(seed, {.tensors = 12, .rows = 64, .code_size = 10'000 + random() % 20'000});
    std::vector<PackRecord> records = chip_records(corpus.chips);
    records.push_back(support::plain_record(RecordType::kWeightBlob, "weights", corpus.chips[0]));
    records.back().source.bytes.resize(200'000 + random() % 5000);
    records.push_back(support::plain_record(RecordType::kOpaque, "same", corpus.chips[1]));
    for (PackRecord& record : support::mixed_records()) records.push_back(std::move(record));

    const Packed packed =
        opened(support::packed_bytes(records, by_pages(static_cast<std::uint8_t>(12 + 2 * (seed % 3)))));

    expect_rebuilt(packed, records);
  }
}

TEST(PackPages, TheOrderOfTheRecordsChangesNoByte) {
  const auto corpus = support::make_chip_corpus(20, {.tensors = 12, .rows = 64});
  std::vector<PackRecord> records = chip_records(corpus.chips);
  for (PackRecord& record : support::cpu_records()) records.push_back(std::move(record));
  const Bytes expected = support::packed_bytes(records, by_pages());
  std::mt19937_64 random(1);
  for (int round = 0; round < 6; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    EXPECT_TRUE(support::packed_bytes(records, by_pages()) == expected) << round;
  }
}

TEST(PackPages, WhichChipIsBaseIsDecidedByContentNotByName) {
  const auto corpus = support::make_chip_corpus(21, {.tensors = 12, .rows = 64});
  const auto pieces_by_content = [&](std::vector<std::size_t> order) {
    std::vector<PackRecord> records;
    for (std::size_t i = 0; i < order.size(); ++i) {
      records.push_back(
          support::binary_record("r" + std::to_string(i), "v" + std::to_string(i), corpus.chips[order[i]]));
    }
    const Packed packed = opened(support::packed_bytes(records, by_pages()));
    expect_rebuilt(packed, records);
    std::vector<std::uint32_t> pieces(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      pieces[order[i]] = packed.record("r" + std::to_string(i)).slice_count;
    }
    return pieces;
  };

  const auto expected = pieces_by_content({0, 1, 2, 3});

  EXPECT_EQ(pieces_by_content({3, 2, 1, 0}), expected);
  EXPECT_EQ(pieces_by_content({2, 0, 3, 1}), expected);
  EXPECT_GT(*std::max_element(expected.begin(), expected.end()), 1U);
}

TEST(PackPages, TheReportSaysWhatWasSharedAndInHowManyPieces) {
  const auto corpus = support::make_chip_corpus(22);
  std::vector<PackRecord> records = chip_records({corpus.chips[0], corpus.chips[1]});
  records.push_back(support::plain_record(RecordType::kOpaque, "again", corpus.chips[1]));
  const TempDir folder;

  const auto report = pack(records, folder.file("a"), by_pages());

  ASSERT_TRUE(is_ok(report));
  const Packed packed = opened(support::read_file(folder.file("a")));
  ASSERT_EQ(report.value().records.size(), packed.toc.toc.records.size());
  std::uint64_t stored = 0;
  std::uint64_t shared = 0;
  for (std::size_t i = 0; i < report.value().records.size(); ++i) {
    const PackedRecordReport& record = report.value().records[i];
    const RecordInfo& found = packed.toc.toc.records[i];
    EXPECT_EQ(record.id, found.id);
    EXPECT_EQ(record.name, found.name);
    EXPECT_EQ(record.size_bytes, found.size_bytes);
    EXPECT_EQ(record.pieces, found.slice_count);
    EXPECT_EQ(record.stored_bytes + record.shared_bytes, found.stored_bytes);
    stored += record.stored_bytes;
    shared += record.shared_bytes;
  }
  EXPECT_EQ(report.value().stored_bytes, stored);
  EXPECT_EQ(report.value().shared_bytes, shared);
  EXPECT_EQ(report.value().input_bytes, stored + shared);
  EXPECT_EQ(report.value().shared_records, 1U);
  const std::uint64_t all = corpus.chips[0].size();
  EXPECT_LT(stored, all + all / 10) << "one chip, and the code of the other";
  EXPECT_LT(report.value().file_size, all + all / 10 + 400'000);
}

TEST(PackPages, AFileWithNothingToShareIsTheSameWithAndWithout) {
  EXPECT_EQ(support::packed_bytes(support::cpu_records(), by_pages()), support::packed_bytes(support::cpu_records()));
  EXPECT_EQ(support::packed_bytes(support::mixed_records(), by_pages()),
            support::packed_bytes(support::mixed_records()));
}

TEST(PackPages, CompressedAndSmallRecordsTakeNoPart) {
  const auto corpus = support::make_chip_corpus(23, {.tensors = 4});
  std::vector<PackRecord> records = chip_records({corpus.chips[0]});
  Bytes twice = corpus.chips[0];
  twice.insert(twice.end(), twice.begin(), twice.end());
  records.push_back(support::plain_record(RecordType::kSourceModel, "source", Bytes(300'000, std::byte{5})));
  records.back().codec = Codec::kLz4;
  records.push_back(support::plain_record(
      RecordType::kOpaque, "small", Bytes(corpus.chips[0].begin() + 4096 * 8, corpus.chips[0].begin() + 4096 * 20)));
  const TempDir folder;

  const auto report = pack(records, folder.file("a"), by_pages());

  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().shared_bytes, 0U);
  for (const PackedRecordReport& record : report.value().records) EXPECT_EQ(record.pieces, 1U) << record.name;
}

TEST(PackPages, MaxPiecesOutOfRangeIsRefused) {
  const TempDir folder;
  for (const std::uint32_t pieces : {0U, 65'537U}) {
    PackOptions options = by_pages();
    options.max_pieces = pieces;
    EXPECT_TRUE(fails_with(pack(support::cpu_records(), folder.file("a"), options), ErrorCode::kInvalidArgument));
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(PackPages, SlicesOfOneRecordStayWithinMaxPieces) {
  std::mt19937_64 random(24);
  std::vector<Bytes> chips(2);
  for (std::size_t section = 0; section < 40;
       ++section) {  // shared ones of different length, and one of each chip's own
    const Bytes shared = support::random_bytes(random, (8 + section) * 4096);
    for (Bytes& chip : chips) {
      const Bytes code = support::random_bytes(random, 4096);
      chip.insert(chip.end(), shared.begin(), shared.end());
      chip.insert(chip.end(), code.begin(), code.end());
    }
  }
  std::uint32_t before = 0xffffffff;
  for (const std::uint32_t pieces : {4096U, 30U, 1U}) {
    PackOptions options = by_pages();
    options.max_pieces = pieces;
    const std::vector<PackRecord> records = chip_records(chips);
    const Packed packed = opened(support::packed_bytes(records, options));
    expect_rebuilt(packed, records);
    std::uint32_t most = 0;
    for (const RecordInfo& record : packed.toc.toc.records) most = std::max(most, record.slice_count);
    EXPECT_LE(most, pieces);
    EXPECT_LT(most, before);
    before = most;
  }
}

TEST(PackPages, ARecordThatIsAWholeRunOfAnotherHasNoSegment) {
  const auto corpus = support::make_chip_corpus(25, {.tensors = 4});
  std::vector<PackRecord> records = chip_records({corpus.chips[0]});
  const Bytes middle(corpus.chips[0].begin() + 5 * 4096, corpus.chips[0].begin() + 60 * 4096);
  records.push_back(support::plain_record(RecordType::kWeightBlob, "weights", middle));

  const Packed packed = opened(support::packed_bytes(records, by_pages()));

  expect_rebuilt(packed, records);
  const RecordInfo& record = packed.record("weights");
  ASSERT_EQ(record.slice_count, 1U);
  EXPECT_EQ(packed.slices(record)[0].segment, packed.slices(packed.record("chip0"))[0].segment);
  EXPECT_EQ(record.file_offset % 4096, 0U);
  EXPECT_EQ(packed.toc.toc.segments.size(), 3U) << "packed, chip, leaves";
}

TEST(PackPages, AnInputThatChangesBetweenFindingAndCopyingIsRefused) {
  const auto corpus = support::make_chip_corpus(26);
  const TempDir inputs;
  std::vector<PackRecord> records = chip_records({corpus.chips[0], corpus.chips[1]});
  for (PackRecord& record : records) {
    const std::string path = inputs.file(record.name);
    support::write_file(path, record.source.bytes);
    record.source = {path, {}};
  }
  for (const char* changed : {"chip0", "chip1"}) {
    const TempDir folder;
    PackOptions options = by_pages();
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      if (done == total) support::write_file(inputs.file(changed), support::pattern(corpus.chips[0].size(), 3));
    };

    EXPECT_TRUE(fails_with(pack(records, folder.file("a"), options), ErrorCode::kChanged)) << changed;
    EXPECT_TRUE(folder.names().empty());

    support::write_file(inputs.file(changed), corpus.chips[changed[4] == '0' ? 0 : 1]);
  }
}

TEST(PackPages, MemoryIsASmallPartOfWhatIsPacked) {
  if (support::kSanitized) GTEST_SKIP() << "a sanitizer keeps what is given back";
  const TempDir folder;
  const auto [records, total] = support::write_chip_files(folder, 3, 80, 1'000'448, 8);
  const support::PeakMemory memory;

  const auto report = pack(records, folder.file("out"), by_pages());

  ASSERT_TRUE(is_ok(report));
  EXPECT_GT(report.value().shared_bytes, total / 2) << "or there was nothing to remember";
  EXPECT_LT(memory.grown_bytes(), 24'000'000 + total / 20);
}

}  // namespace pack_pages_test
}  // namespace fatctx
