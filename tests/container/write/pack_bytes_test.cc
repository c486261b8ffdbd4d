// `--sharing bytes` from records to a file: every record is read back unchanged, in any order of packing. The file is
// not much larger than the different bytes of the records. Shows S3.70, S5.5.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "container/check/verify.h"
#include "container/read/open.h"
#include "container/read/recipe_record.h"
#include "container/read/record_stream.h"
#include "support/chip_corpus.h"
#include "support/chip_files.h"
#include "support/memory_file.h"
#include "support/peak_memory.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/sanitized.h"

namespace fatctx {
namespace pack_bytes_test {

using container::OpenedToc;
using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::MemoryFile;
using support::pack;
using support::TempDir;

constexpr std::uint64_t kExtent = 65'536;

PackOptions by_bytes(std::uint8_t granule_log2 = 12) {
  PackOptions options;
  options.sharing = Sharing::kBytes;
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
  explicit Packed(Bytes bytes) : file(std::move(bytes)), opened(container::read_toc(file, file.size()).value()) {}

  [[nodiscard]] const RecordInfo& record(const std::string& name) const {
    const auto& records = opened.toc.records;
    return *std::find_if(records.begin(), records.end(), [&](const RecordInfo& record) { return record.name == name; });
  }
  [[nodiscard]] Bytes made(const std::string& name) const {
    Bytes bytes;
    const auto status = container::stream_logical(file, opened.toc, record(name), container::WorkBudget(opened.toc),
                                                  [&](ByteView piece) -> Status {
                                                    bytes.insert(bytes.end(), piece.begin(), piece.end());
                                                    return Done{};
                                                  });
    EXPECT_TRUE(is_ok(status)) << name;
    return bytes;
  }

  MemoryFile file;
  OpenedToc opened;
};

void expect_all_there(const Packed& packed, const std::vector<PackRecord>& records) {
  for (const PackRecord& given : records) {
    EXPECT_TRUE(packed.made(given.name) == given.source.bytes) << given.name;
  }
  const auto report = container::verify_container(packed.file, {});
  ASSERT_TRUE(is_ok(report));
  for (const VerifyFinding& finding : report.value().findings) ADD_FAILURE() << to_text(finding.error);
}

std::size_t recipes_of(const Packed& packed) {
  const auto& records = packed.opened.toc.records;
  return static_cast<std::size_t>(
      std::count_if(records.begin(), records.end(), [](const RecordInfo& record) { return record.recipe; }));
}

TEST(PackBytes, EveryRecordComesOutAsItWentIn) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto corpus =
        support::make_chip_corpus(seed, {.tensors = 12, .rows = 64, .code_size = 10'000 + random() % 90'000});
    std::vector<PackRecord> records = chip_records(corpus.chips);
    records.push_back(support::plain_record(RecordType::kWeightBlob, "weights", corpus.chips[0]));
    records.back().source.bytes.resize(200'000 + random() % 5000);
    records.push_back(support::plain_record(RecordType::kOpaque, "same", corpus.chips[1]));
    for (PackRecord& record : support::mixed_records()) records.push_back(std::move(record));

    const Packed packed(support::packed_bytes(records, by_bytes(static_cast<std::uint8_t>(12 + 2 * (seed % 3)))));

    expect_all_there(packed, records);
    EXPECT_GE(recipes_of(packed), 3U) << "or nothing was shown";
  }
}

// The end of a chip's own long piece is not a whole granule, so it becomes a literal at first. The literal later moves
// to a store, and its copy joins the copy before it.
TEST(PackBytes, CodeThatEndsAnywhereInAGranuleIsOneCopy) {
  std::mt19937_64 random(33);
  std::vector<Bytes> chips(2);
  for (Bytes& chip : chips) chip = support::random_bytes(random, 100'100);
  for (int section = 0; section < 60; ++section) {
    const Bytes weights = support::random_bytes(random, 10'000);
    for (Bytes& chip : chips) {
      const Bytes own = support::random_bytes(random, 2'000);
      chip.insert(chip.end(), weights.begin(), weights.end());
      chip.insert(chip.end(), own.begin(), own.end());
    }
  }
  const std::vector<PackRecord> records = chip_records(chips);

  const Packed packed(support::packed_bytes(records, by_bytes()));

  expect_all_there(packed, records);
  EXPECT_EQ(recipes_of(packed), 1U);
}

TEST(PackBytes, TheFileIsHardlyLargerThanWhatIsDifferent) {
  const auto corpus = support::make_chip_corpus(30);
  const TempDir folder;

  const auto report = pack(chip_records(corpus.chips), folder.file("a"), by_bytes());

  ASSERT_TRUE(is_ok(report));
  // One record whole, code of the others; a few steps. Sections of the second chip that end in zeros are in the floor.
  EXPECT_LT(report.value().stored_bytes, corpus.floor_bytes + corpus.floor_bytes / 100 + 20'000);
  EXPECT_LT(report.value().file_size, corpus.floor_bytes + corpus.floor_bytes / 100 + 20'000 + 8 * kExtent);
}

TEST(PackBytes, TheOrderOfTheRecordsChangesNoByte) {
  const auto corpus = support::make_chip_corpus(31, {.tensors = 12, .rows = 64, .code_size = 80'000});
  std::vector<PackRecord> records = chip_records(corpus.chips);
  for (PackRecord& record : support::cpu_records()) records.push_back(std::move(record));
  const Bytes expected = support::packed_bytes(records, by_bytes());
  EXPECT_EQ(recipes_of(Packed(expected)), 3U);
  std::mt19937_64 random(1);
  for (int round = 0; round < 6; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    EXPECT_TRUE(support::packed_bytes(records, by_bytes()) == expected) << round;
  }
}

TEST(PackBytes, TheNumberOfThreadsChangesNoByte) {
  // More than two units of a scan; the weights move by 13 bytes from chip to chip, across the borders of units.
  std::mt19937_64 random(50);
  const Bytes weights = support::random_bytes(random, (std::size_t{20} << 20) + 77);
  std::vector<Bytes> chips;
  for (std::size_t i = 0; i < 3; ++i) {
    chips.push_back(support::random_bytes(random, 5'000 + 13 * i));
    chips.back().insert(chips.back().end(), weights.begin(), weights.end());
    std::fill_n(chips.back().begin() + (std::ptrdiff_t{8} << 20) - 3'000, 6'000, static_cast<std::byte>(i));
  }
  std::vector<PackRecord> records = chip_records(chips);
  Bytes expected;
  for (const std::uint32_t threads : {1U, 2U, 7U, 0U}) {
    std::reverse(records.begin(), records.end());
    PackOptions options = by_bytes();
    options.threads = threads;
    const Bytes file = support::packed_bytes(records, options);
    if (expected.empty()) expected = file;
    EXPECT_TRUE(file == expected) << threads;
  }
  const Packed packed(expected);
  expect_all_there(packed, records);
  EXPECT_EQ(recipes_of(packed), 2U);
  for (const RecordInfo& record : packed.opened.toc.records) {
    if (!record.recipe) continue;
    const auto recipe =
        container::read_recipe(packed.file, packed.opened.toc, record, container::WorkBudget(packed.opened.toc))
            .value();
    EXPECT_LE(recipe.steps().size(), 6U) << "a run over a seam is one step";
  }
}

TEST(PackBytes, WhichChipStaysWholeIsDecidedByContentNotByName) {
  const auto corpus = support::make_chip_corpus(32, {.tensors = 12, .rows = 64});
  const auto recipe_by_content = [&](std::vector<std::size_t> order) {
    std::vector<PackRecord> records;
    for (std::size_t i = 0; i < order.size(); ++i) {
      records.push_back(
          support::binary_record("r" + std::to_string(i), "v" + std::to_string(i), corpus.chips[order[i]]));
    }
    const Packed packed(support::packed_bytes(records, by_bytes()));
    expect_all_there(packed, records);
    std::vector<bool> recipes(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) recipes[order[i]] = packed.record("r" + std::to_string(i)).recipe;
    return recipes;
  };

  const auto expected = recipe_by_content({0, 1, 2, 3});

  EXPECT_EQ(std::count(expected.begin(), expected.end(), false), 1);
  EXPECT_EQ(recipe_by_content({3, 2, 1, 0}), expected);
  EXPECT_EQ(recipe_by_content({2, 0, 3, 1}), expected);
}

TEST(PackBytes, ARecipeCarriesNoMustMap) {
  const auto corpus = support::make_chip_corpus(33, {.tensors = 4});
  const std::vector<PackRecord> records = chip_records({corpus.chips[0], corpus.chips[2]});

  const Packed packed(support::packed_bytes(records, by_bytes()));

  ASSERT_EQ(recipes_of(packed), 1U);
  const auto& toc = packed.opened.toc;
  for (const RecordInfo& record : toc.records) {
    if (record.type != RecordType::kContextBinary) continue;
    EXPECT_TRUE(record.supported);
    EXPECT_NE(record.must_map, record.recipe);
  }
}

TEST(PackBytes, TheReportSaysWhatBecameARecipeAndWhatOfItCanBeMapped) {
  const auto corpus = support::make_chip_corpus(34);
  std::vector<PackRecord> records = chip_records({corpus.chips[0], corpus.chips[1]});
  records.push_back(support::plain_record(RecordType::kOpaque, "again", corpus.chips[1]));
  const TempDir folder;

  const auto report = pack(records, folder.file("a"), by_bytes());

  ASSERT_TRUE(is_ok(report));
  const Packed packed(support::read_file(folder.file("a")));
  expect_all_there(packed, records);
  std::uint64_t stored = 0;
  std::uint64_t shared = 0;
  for (const PackedRecordReport& record : report.value().records) {
    SCOPED_TRACE(record.name);
    const RecordInfo& found = packed.record(record.name);
    EXPECT_EQ(record.size_bytes, found.size_bytes);
    EXPECT_EQ(record.stored_bytes + record.shared_bytes, record.size_bytes);
    EXPECT_EQ(record.recipe_steps != 0, found.recipe);
    stored += record.stored_bytes;
    shared += record.shared_bytes;
    if (!found.recipe) {
      EXPECT_EQ(record.pieces, found.slice_count);
      EXPECT_EQ(record.recipe_bytes + record.mappable_bytes, 0U);
      continue;
    }
    EXPECT_EQ(record.pieces, 0U);
    EXPECT_EQ(record.recipe_bytes, container::program_of(packed.opened.toc, found).size);
    const auto recipe =
        container::read_recipe(packed.file, packed.opened.toc, found, container::WorkBudget(packed.opened.toc));
    ASSERT_TRUE(is_ok(recipe));
    EXPECT_EQ(recipe.value().steps().size(), record.recipe_steps);
    std::uint64_t mappable = 0;
    for (const auto& run : recipe.value().congruent_runs(4096, 1)) mappable += run.size;
    EXPECT_EQ(mappable, record.mappable_bytes);
    EXPECT_GT(mappable, record.size_bytes - 60'000) << "all but the code lies at the same place";
  }
  EXPECT_EQ(report.value().stored_bytes, stored);
  EXPECT_EQ(report.value().shared_bytes, shared);
  EXPECT_EQ(report.value().shared_records, 1U);
  EXPECT_EQ(recipes_of(packed), 2U) << "the equal record has the same recipe";
}

TEST(PackBytes, ARecordOfOneLeafStaysAsItIs) {
  const Bytes large = support::pattern(300'000, 41);
  for (const std::size_t more : {0U, 1U}) {
    const Bytes part(large.begin() + 1'001, large.begin() + 1'001 + container::kLeafSize + static_cast<int>(more));
    const std::vector<PackRecord> records = chip_records({large, part});
    const Packed packed(support::packed_bytes(records, by_bytes()));
    expect_all_there(packed, records);
    EXPECT_EQ(packed.record("chip1").recipe, more == 1);
  }
}

TEST(PackBytes, LongLiteralsLieInASegmentAndCanBeMapped) {
  const auto corpus = support::make_chip_corpus(35, {.tensors = 8});
  std::mt19937_64 random(35);
  Bytes other = corpus.chips[0];
  const Bytes code = support::random_bytes(random, 300'000);
  other.insert(other.begin() + 100'123, code.begin(), code.end());

  const Packed packed(support::packed_bytes(chip_records({corpus.chips[0], other}), by_bytes()));

  expect_all_there(packed, chip_records({corpus.chips[0], other}));
  ASSERT_EQ(recipes_of(packed), 1U);
  const auto& records = packed.opened.toc.records;
  const auto record =
      std::find_if(records.begin(), records.end(), [](const RecordInfo& found) { return found.recipe; });
  const auto recipe =
      container::read_recipe(packed.file, packed.opened.toc, *record, container::WorkBudget(packed.opened.toc));
  ASSERT_TRUE(is_ok(recipe));
  if (record->size_bytes == other.size()) {
    const auto runs = recipe.value().congruent_runs(4096, 1);
    EXPECT_TRUE(std::any_of(runs.begin(), runs.end(), [](const container::CongruentRun& run) {
      return run.target >= 100'123 && run.target < 104'300 && run.size >= 290'000;
    })) << "what is new";
  }
  EXPECT_LT(recipe.value().literals().size(), 10'000U);
}

TEST(PackBytes, AFileWithNothingToShareIsTheSameWithAndWithout) {
  EXPECT_EQ(support::packed_bytes(support::cpu_records(), by_bytes()), support::packed_bytes(support::cpu_records()));
  EXPECT_EQ(support::packed_bytes(support::mixed_records(), by_bytes()),
            support::packed_bytes(support::mixed_records()));
  std::mt19937_64 random(36);
  const auto unlike = chip_records({support::random_bytes(random, 300'000), support::random_bytes(random, 300'000)});
  EXPECT_EQ(support::packed_bytes(unlike, by_bytes()), support::packed_bytes(unlike));
}

TEST(PackBytes, ZerosAndShortPeriodsAreFoundToo) {
  std::mt19937_64 random(37);
  const Bytes shared = support::random_bytes(random, 400'000);
  const auto record_with = [&](const Bytes& middle, std::size_t more) {
    Bytes bytes = shared;
    bytes.insert(bytes.begin() + 150'000, middle.begin(), middle.end());
    const Bytes code = support::random_bytes(random, 5'000 + more);
    bytes.insert(bytes.end(), code.begin(), code.end());
    return bytes;
  };
  for (const std::size_t period : {1U, 3U, 777U, 3'000U}) {
    SCOPED_TRACE(period);
    const Bytes once = support::random_bytes(random, period);
    Bytes repeated;
    while (repeated.size() < 2'000'000) repeated.insert(repeated.end(), once.begin(), once.end());
    Bytes longer = repeated;
    longer.insert(longer.end(), repeated.begin(), repeated.begin() + 900'000);
    const std::vector<PackRecord> records =
        chip_records({record_with(repeated, 1), record_with(longer, 2), record_with({}, 3)});
    const TempDir folder;

    const auto report = pack(records, folder.file("a"), by_bytes());

    ASSERT_TRUE(is_ok(report));
    expect_all_there(Packed(support::read_file(folder.file("a"))), records);
    std::uint64_t most = 0;
    for (const PackRecord& given : records) most = std::max<std::uint64_t>(most, given.source.bytes.size());
    EXPECT_LT(report.value().stored_bytes, most + 1'000'000) << "one of them, and no second copy of what repeats";
  }
}

TEST(PackBytes, AnInputThatChangesBetweenFindingAndCopyingIsRefused) {
  const auto corpus = support::make_chip_corpus(38, {.tensors = 6});
  const TempDir inputs;
  std::vector<PackRecord> records = chip_records({corpus.chips[0], corpus.chips[2]});
  for (PackRecord& record : records) {
    const std::string path = inputs.file(record.name);
    support::write_file(path, record.source.bytes);
    record.source = {path, {}};
  }
  for (const std::size_t chip : {std::size_t{0}, std::size_t{1}}) {
    const TempDir folder;
    PackOptions options = by_bytes();
    const std::string changed = inputs.file("chip" + std::to_string(chip));
    const Bytes before = support::read_file(changed);
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      if (done == total) support::write_file(changed, support::pattern(before.size(), 3));
    };

    EXPECT_TRUE(fails_with(pack(records, folder.file("a"), options), ErrorCode::kChanged)) << changed;
    EXPECT_TRUE(folder.names().empty());

    support::write_file(changed, before);
  }
}

TEST(PackBytes, DamageOfAnyStoredByteIsFoundAndNothingOfADamagedLeafIsHandedOn) {
  const auto corpus = support::make_chip_corpus(39, {.tensors = 3, .rows = 64, .code_size = 70'000});
  const std::vector<PackRecord> records = chip_records({corpus.chips[0], corpus.chips[2]});
  const Bytes good = support::packed_bytes(records, by_bytes());
  const Packed whole(good);
  ASSERT_EQ(recipes_of(whole), 1U);
  const RecordInfo& recipe = *std::find_if(whole.opened.toc.records.begin(), whole.opened.toc.records.end(),
                                           [](const RecordInfo& record) { return record.recipe; });
  const auto read =
      container::read_recipe(whole.file, whole.opened.toc, recipe, container::WorkBudget(whole.opened.toc));
  ASSERT_TRUE(is_ok(read));
  const auto touched = container::leaves_under(whole.opened.toc, recipe, read.value(), {0, recipe.size_bytes});
  std::mt19937_64 random(39);
  int hurt = 0;
  for (std::uint32_t segment = 0; segment < whole.opened.toc.segments.size(); ++segment) {
    const container::Segment& place = whole.opened.toc.segments[segment];
    if (place.kind == container::SegmentKind::kLeaves) continue;
    for (int round = 0; round < 12; ++round) {
      const std::uint64_t at = random() % place.size;
      MemoryFile file(good);
      file.bytes()[static_cast<std::size_t>(place.offset + at)] ^= std::byte{4};
      const std::uint64_t leaf = at >> container::kLeafLog2;
      const bool reads_it = std::any_of(touched.begin(), touched.end(), [&](const container::SegmentLeaves& run) {
        return run.segment == segment && leaf >= run.range.first && leaf < run.range.end;
      });
      Bytes got;
      const auto status = container::stream_logical(
          file, whole.opened.toc, recipe, container::WorkBudget(whole.opened.toc), [&](ByteView piece) -> Status {
            got.insert(got.end(), piece.begin(), piece.end());
            return Done{};
          });
      EXPECT_EQ(status.ok(), !reads_it) << segment << " " << at;
      if (reads_it) {
        EXPECT_TRUE(fails_with(status, ErrorCode::kChecksumMismatch, "F26"));
        ++hurt;
      }
      const Bytes expected = whole.made(std::string(recipe.name));
      EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin())) << "a wrong byte was handed on";
      const auto one = container::verify_record(file, whole.opened.header, whole.opened.toc, recipe, {});
      ASSERT_TRUE(is_ok(one));
      EXPECT_EQ(one.value().findings.empty(), !reads_it);
      const auto all = container::verify_container(file, {});
      ASSERT_TRUE(is_ok(all));
      EXPECT_FALSE(all.value().findings.empty());
    }
  }
  EXPECT_GT(hurt, 20);
}

TEST(PackBytes, StepsThatJumpThroughTheFileReadItOnlyAFewTimes) {
  // Rows of 1 KiB from 16 MiB, in an order in which no leaf stays in the cache.
  std::mt19937_64 random(40);
  const Bytes base = support::random_bytes(random, std::size_t{16} << 20);
  constexpr std::size_t kRow = 1'024;
  const std::size_t rows = base.size() / kRow;
  Bytes other;
  other.reserve(base.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const auto from = base.begin() + static_cast<std::ptrdiff_t>((row * 131 * 64 + row * 64 / rows) % rows * kRow);
    other.insert(other.end(), from, from + kRow);
  }
  const Packed packed(support::packed_bytes(chip_records({base, other}), by_bytes()));
  ASSERT_EQ(recipes_of(packed), 1U);
  for (const char* name : {"chip0", "chip1"}) {
    const std::uint64_t before = packed.file.bytes_read();
    EXPECT_TRUE(packed.made(name) == (name[4] == '0' ? base : other));
    EXPECT_LT(packed.file.bytes_read() - before, 5 * base.size()) << "a leaf for each of the rows would be 64 times";
  }
}

TEST(PackBytes, MemoryIsAPartOfWhatIsStoredNotOfWhatIsPacked) {
  if (support::kSanitized) GTEST_SKIP() << "a sanitizer keeps what is given back";
  const TempDir folder;
  const auto [records, total] = support::write_chip_files(folder, 4, 60, 1'000'248, 20);
  const support::PeakMemory memory;

  const auto report = pack(records, folder.file("out"), by_bytes());

  ASSERT_TRUE(is_ok(report));
  EXPECT_LT(report.value().stored_bytes, total / 3) << "or there was nothing to remember";
  EXPECT_LT(memory.grown_bytes(), 32'000'000 + report.value().stored_bytes * 4 / 10);
}

}  // namespace pack_bytes_test
}  // namespace fatctx
