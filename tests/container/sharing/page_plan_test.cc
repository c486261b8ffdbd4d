// The plan of shared pages: every record can be restored from it, and nothing is stored twice without need. Neither the
// order of records nor hashes decide anything that content should decide.
#include "container/sharing/page_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "support/chip_corpus.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/sanitized.h"

namespace fatctx::container::sharing {
namespace page_plan_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

constexpr std::size_t kPage = 4096;

class MemoryRecord final : public RecordBytes {
 public:
  explicit MemoryRecord(Bytes bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const noexcept override { return bytes_.size(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    if (fail_) return Error{ErrorCode::kIo, "a fault of the test"};
    is_open_ = true;
    largest_read_ = std::max(largest_read_, buffer.size());
    FATCTX_ASSIGN(const ByteView piece, slice(bytes_, {offset, buffer.size()}));
    std::copy(piece.begin(), piece.end(), buffer.begin());
    return Done{};
  }
  void close() const noexcept override { is_open_ = false; }

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] std::size_t largest_read() const { return largest_read_; }
  void fail() { fail_ = true; }

 private:
  Bytes bytes_;
  bool fail_ = false;
  mutable bool is_open_ = false;
  mutable std::size_t largest_read_ = 0;
};

struct Planned {
  std::vector<MemoryRecord> records;
  std::vector<MemoryRecord> present;
  Result<PagePlan> plan = Error{};

  [[nodiscard]] const PagePlan& value() const { return plan.value(); }
  [[nodiscard]] std::uint64_t own_bytes() const {
    std::uint64_t sum = 0;
    for (const PageRecord& record : value().records) sum += record.own_bytes;
    return sum;
  }
  [[nodiscard]] Bytes own_of(std::size_t index) const {
    Bytes bytes;
    for (const ByteRange& range : value().records[index].own) {
      const auto from = records[index].bytes().begin() + static_cast<std::ptrdiff_t>(range.offset);
      bytes.insert(bytes.end(), from, from + static_cast<std::ptrdiff_t>(range.size));
    }
    return bytes;
  }
};

Planned planned(const std::vector<Bytes>& records, PageSettings settings = {}, const std::vector<Bytes>& present = {}) {
  Planned result;
  for (const Bytes& bytes : records) result.records.emplace_back(bytes);
  for (const Bytes& bytes : present) result.present.emplace_back(bytes);
  std::vector<PageInput> inputs;
  std::vector<const RecordBytes*> stored;
  for (const MemoryRecord& record : result.records) inputs.push_back({&record, 1});
  for (const MemoryRecord& record : result.present) stored.push_back(&record);
  result.plan = plan_pages(inputs, stored, settings);
  return result;
}

PageSettings every_page() {  // Returns settings without a minimum run or saving.
  PageSettings settings;
  settings.min_run_bytes = 1;
  settings.min_saving_divisor = std::uint64_t{1} << 32;
  settings.max_pieces = 65536;
  return settings;
}

// Restores every record from the plan alone and checks it against the rules of the format.
void expect_rebuilt(const Planned& planned, const PageSettings& settings = {}) {
  ASSERT_TRUE(is_ok(planned.plan));
  const std::size_t granule = std::size_t{1} << settings.granule_log2;
  std::vector<Bytes> stores;
  for (const MemoryRecord& record : planned.present) stores.push_back(record.bytes());
  for (std::size_t i = 0; i < planned.records.size(); ++i) stores.push_back(planned.own_of(i));
  std::uint64_t slices = 0;
  for (std::size_t i = 0; i < planned.records.size(); ++i) {
    const std::vector<Piece>& pieces = planned.value().records[i].pieces;
    slices += pieces.size();
    EXPECT_LE(pieces.size(), settings.max_pieces);
    EXPECT_EQ(planned.own_of(i).size(), planned.value().records[i].own_bytes);
    Bytes rebuilt;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const Bytes& store = stores.at(pieces[p].store);
      const ByteRange range = pieces[p].range;
      ASSERT_TRUE(within(range, store.size()));
      ASSERT_NE(range.size, 0U);
      if (pieces.size() > 1) {
        EXPECT_EQ(range.offset % granule, 0U);
        if (p + 1 < pieces.size()) {
          EXPECT_EQ(range.size % granule, 0U);
        } else {  // bytes that a host maps behind the end are zero: the segment ends there, or holds zeros
          for (std::size_t at = range.offset + range.size; at % granule != 0 && at < store.size(); ++at) {
            EXPECT_EQ(store[at], std::byte{0});
          }
        }
      }
      const auto from = store.begin() + static_cast<std::ptrdiff_t>(range.offset);
      rebuilt.insert(rebuilt.end(), from, from + static_cast<std::ptrdiff_t>(range.size));
    }
    EXPECT_TRUE(rebuilt == planned.records[i].bytes()) << "record " << i;
  }
  EXPECT_LE(slices, std::max<std::uint64_t>(settings.max_slices, planned.records.size()));
  for (const MemoryRecord& record : planned.records) EXPECT_FALSE(record.is_open());
  for (const MemoryRecord& record : planned.present) EXPECT_FALSE(record.is_open());
}

Bytes zeros(std::size_t size) { return Bytes(size); }

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Returns records made of a small stock of pages, so that equal runs have all lengths, with tails of any length.
std::vector<Bytes> stock_records(std::mt19937_64& random, std::size_t granule) {
  std::vector<Bytes> stock;
  for (int i = 0; i < 40; ++i) stock.push_back(support::random_bytes(random, granule * (1 + random() % 12)));
  stock.push_back(zeros(granule));
  stock.push_back(zeros(granule * 9));
  std::vector<Bytes> records;
  const std::size_t count = 1 + random() % 7;
  for (std::size_t i = 0; i < count; ++i) {
    Bytes bytes;
    for (std::size_t part = random() % 30; part != 0; --part) bytes = bytes + stock[random() % stock.size()];
    if (random() % 2 == 0) bytes = bytes + support::random_bytes(random, 1 + random() % granule);
    if (random() % 4 == 0) bytes.resize(bytes.size() - std::min(bytes.size(), std::size_t{random() % granule}));
    if (bytes.empty()) bytes = support::random_bytes(random, 1 + random() % 100);
    if (std::find(records.begin(), records.end(), bytes) == records.end()) records.push_back(std::move(bytes));
  }
  return records;
}

TEST(PagePlan, EveryRecordComesOutOfItsPiecesAgain) {
  for (std::uint64_t seed = 0; seed < 60; seed += support::kSanitized ? 7 : 1) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    PageSettings settings;
    settings.granule_log2 = 12 + 2 * static_cast<unsigned>(seed % 3);
    if (seed % 2 == 0) settings.min_run_bytes = random() % 100'000;
    if (seed % 5 == 0) settings.max_pieces = static_cast<std::uint32_t>(1 + random() % 9);
    if (seed % 7 == 0) settings.max_slices = 8 + random() % 20;
    if (seed % 3 == 0) settings.min_saving_divisor = 1 + random() % 1000;
    const std::size_t granule = std::size_t{1} << settings.granule_log2;
    std::vector<Bytes> records = stock_records(random, granule);
    std::vector<Bytes> present;
    if (seed % 4 == 0 && records.size() > 1) {  // as an append finds it
      present.push_back(records.back());
      records.pop_back();
    }

    const Planned plan = planned(records, settings, present);

    expect_rebuilt(plan, settings);
  }
}

TEST(PagePlan, WithRunsOfOnePageEveryContentIsStoredOnce) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<Bytes> records = stock_records(random, kPage);
    for (Bytes& bytes : records) bytes.resize((bytes.size() + kPage - 1) / kPage * kPage);

    const Planned plan = planned(records, every_page());

    expect_rebuilt(plan, every_page());
    EXPECT_EQ(plan.own_bytes(), support::distinct_granules(records, kPage) * kPage);
  }
}

// Returns the stored pieces and their sources by content, which is independent of the order of the records.
std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::string>>> by_content(const Planned& plan) {
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::string>>> result;
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    auto& pieces = result[granule_hash(plan.records[i].bytes())];
    for (const Piece& piece : plan.value().records[i].pieces) {
      const Bytes& store = plan.records[piece.store].bytes();
      pieces.emplace_back(piece.range.offset, std::to_string(piece.range.size) + " of " + std::to_string(store.size()) +
                                                  " " + std::to_string(granule_hash(store)));
    }
  }
  return result;
}

TEST(PagePlan, TheOrderOfTheRecordsChangesNothing) {
  const support::ChipCorpus corpus = support::make_chip_corpus(3, {.tensors = 12, .rows = 64});
  std::vector<Bytes> records = corpus.chips;
  std::mt19937_64 random(9);
  for (const Bytes& bytes : stock_records(random, kPage)) records.push_back(bytes);
  const auto expected = by_content(planned(records));

  for (int round = 0; round < 12; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    const Planned plan = planned(records);

    EXPECT_TRUE(by_content(plan) == expected) << round;
    expect_rebuilt(plan);
  }
}

TEST(PagePlan, TheChipThatTheOthersShareMostWithIsStoredWhole) {
  const support::ChipCorpus corpus = support::make_chip_corpus(1);

  const Planned plan = planned(corpus.chips);

  expect_rebuilt(plan);
  const std::size_t base = plan.value().layout.groups.front().members.front();
  EXPECT_NE(base, 3U) << "the chip with other tiles shares no chunk";
  EXPECT_EQ(plan.value().records[base].pieces.size(), 1U);
  EXPECT_EQ(plan.value().records[base].own_bytes, corpus.chips[base].size());
  ASSERT_EQ(plan.value().layout.groups.size(), 2U);
  EXPECT_EQ(plan.value().layout.groups.front().members.size(), 3U);
  EXPECT_EQ(plan.value().layout.groups.back().members, std::vector<std::size_t>{3});
}

TEST(PagePlan, ChipsWithSectionsAtTheSamePlaceOfAPageComeCloseToTheFloor) {
  const support::ChipCorpus corpus = support::make_chip_corpus(2);
  const std::vector<Bytes> same_places = {corpus.chips[0], corpus.chips[1]};

  const Planned plan = planned(same_places);

  expect_rebuilt(plan);
  EXPECT_LE(plan.own_bytes(), support::distinct_granules(same_places, kPage) * kPage);
  EXPECT_LE(plan.own_bytes(), corpus.floor_bytes + 2 * kPage);
  EXPECT_LE(plan.value().records[0].pieces.size() + plan.value().records[1].pieces.size(), 3U);
}

TEST(PagePlan, NoMoreThanTheDistinctPagesOfAllChipsAreStoredButForShortRuns) {
  const support::ChipCorpus corpus = support::make_chip_corpus(4);

  const Planned plan = planned(corpus.chips);

  expect_rebuilt(plan);
  const std::uint64_t least = support::distinct_granules(corpus.chips, kPage) * kPage;
  EXPECT_GE(plan.own_bytes() + 4 * kPage, least);
  EXPECT_LE(plan.own_bytes(), least + least / 50);
}

TEST(PagePlan, ALargerGranuleSharesLess) {
  const support::ChipCorpus corpus = support::make_chip_corpus(5);
  std::uint64_t before = 0;
  for (const unsigned granule_log2 : {12U, 14U, 16U}) {
    PageSettings settings;
    settings.granule_log2 = granule_log2;
    const Planned plan = planned(corpus.chips, settings);
    expect_rebuilt(plan, settings);
    EXPECT_GE(plan.own_bytes(), before);
    before = plan.own_bytes();
  }
}

TEST(PagePlan, ARunEndsWithTheRecordThatStoresIt) {
  std::mt19937_64 random(1);
  const Bytes a = support::random_bytes(random, 20 * kPage);
  const Bytes b = support::random_bytes(random, 20 * kPage);

  const Planned plan = planned({a, b, a + b});

  expect_rebuilt(plan);
  EXPECT_EQ(plan.own_bytes(), 40 * kPage);
}

TEST(PagePlan, RunsGoBackOverPagesThatWereStoredAMomentAgo) {
  // The page of zeros is found in many places, and none of them continues like this record. The page behind it decides.
  std::mt19937_64 random(2);
  Bytes decoys;
  for (int i = 0; i < 20; ++i) decoys = decoys + zeros(kPage) + support::random_bytes(random, kPage);
  const Bytes shared = zeros(kPage) + support::random_bytes(random, 30 * kPage);
  const Bytes base = decoys + shared;
  const Bytes other = support::random_bytes(random, 10 * kPage) + shared;

  const Planned plan = planned({other}, {}, {base});

  expect_rebuilt(plan);
  EXPECT_EQ(plan.own_bytes(), 10 * kPage);
}

TEST(PagePlan, ARunDoesNotTakeBackThePagesThatItReads) {
  std::mt19937_64 random(6);
  const Bytes period = support::random_bytes(random, 8 * kPage);
  const Bytes end_of_it(period.begin() + 5 * kPage, period.end());

  const Planned plan = planned({support::random_bytes(random, kPage) + end_of_it + period + period + period});

  expect_rebuilt(plan);
  EXPECT_EQ(plan.own_bytes(), 12 * kPage);
}

TEST(PagePlan, ConstantBytesAreStoredOnceWithinTheLimitOfPieces) {
  PageSettings settings;
  settings.max_pieces = 64;
  const Planned plan = planned({zeros(10'000 * kPage)}, settings);

  expect_rebuilt(plan, settings);
  EXPECT_LT(plan.own_bytes(), 400 * kPage);
}

TEST(PagePlan, RecordsSmallerThanAGranuleAreLeftAlone) {
  std::mt19937_64 random(3);
  const Bytes page = support::random_bytes(random, kPage);
  const Bytes head(page.begin(), page.begin() + 100);

  const Planned plan = planned({page, head, Bytes(1, std::byte{7})});

  expect_rebuilt(plan);
  EXPECT_EQ(plan.own_bytes(), kPage + 101U) << "the rest of the page is not zero, so that it is no place for the head";
}

TEST(PagePlan, AShortLastPageIsSharedWhereZerosFollow) {
  std::mt19937_64 random(4);
  const Bytes body = support::random_bytes(random, 16 * kPage);
  Bytes tail = support::random_bytes(random, 100);
  Bytes filled = tail;
  filled.resize(kPage);
  const Bytes code = support::random_bytes(random, 3 * kPage);

  const Planned plan = planned({body + filled, code + body + tail});

  expect_rebuilt(plan);
  EXPECT_EQ(plan.own_bytes(), 20 * kPage);
}

TEST(PagePlan, AWholePageIsNotFoundInAShortOneThatZerosFillUp) {
  std::mt19937_64 random(7);
  const Bytes body = support::random_bytes(random, 16 * kPage);
  const Bytes tail = support::random_bytes(random, 100);
  Bytes filled = tail;
  filled.resize(kPage);

  const Planned plan = planned({body + filled + support::random_bytes(random, 3 * kPage)}, {}, {body + tail});

  expect_rebuilt(plan);
  EXPECT_EQ(plan.own_bytes(), 4 * kPage) << "the zeros behind the short page are padding, not payload";
}

TEST(PagePlan, ASmallSavingIsNotWorthThePieces) {
  std::mt19937_64 random(5);
  const Bytes part = support::random_bytes(random, 8 * kPage);
  const Bytes record = support::random_bytes(random, 1000 * kPage) + part + support::random_bytes(random, kPage);

  const Planned plan = planned({part, record});

  expect_rebuilt(plan);
  EXPECT_LE(plan.value().records[1].pieces.size(), 1U) << "a direct view";
}

TEST(PagePlan, FewerPiecesStoreMore) {
  const support::ChipCorpus corpus = support::make_chip_corpus(6, {.tensors = 60, .rows = 32});
  std::uint64_t before = 0;
  for (const std::uint32_t max_pieces : {4096U, 16U, 4U, 1U}) {
    PageSettings settings;
    settings.max_pieces = max_pieces;
    const Planned plan = planned(corpus.chips, settings);
    expect_rebuilt(plan, settings);
    EXPECT_GE(plan.own_bytes(), before);
    before = plan.own_bytes();
  }
  std::uint64_t all = 0;
  for (const Bytes& chip : corpus.chips) all += chip.size();
  EXPECT_EQ(before, all) << "with one piece nothing is shared";
}

TEST(PagePlan, TheLimitOfAllSlicesHoldsAndCountsRecordsThatRepeatThem) {
  const support::ChipCorpus corpus = support::make_chip_corpus(7, {.tensors = 60, .rows = 32});
  const std::vector<MemoryRecord> records(corpus.chips.begin(), corpus.chips.end());
  for (const std::uint64_t max_slices : {10'000U, 60U, 40U}) {
    std::vector<PageInput> inputs;
    for (const MemoryRecord& record : records) inputs.push_back({&record, 10});
    PageSettings settings;
    settings.max_slices = max_slices;

    const auto plan = plan_pages(inputs, {}, settings);

    ASSERT_TRUE(is_ok(plan));
    std::uint64_t rows = 0;
    for (const PageRecord& record : plan.value().records) rows += 10 * record.pieces.size();
    EXPECT_LE(rows, max_slices);
  }
}

TEST(PagePlan, AHashIsNeverProof) {
  const support::ChipCorpus corpus = support::make_chip_corpus(8, {.tensors = 3, .rows = 48});
  const std::vector<std::pair<const char*, GranuleHash>> hashes = {
      {"all equal", [](ByteView) { return std::uint64_t{7}; }},
      {"four values", [](ByteView bytes) { return granule_hash(bytes) % 4; }},
      {"one in eight", [](ByteView bytes) { return granule_hash(bytes) % 8 == 0 ? 1 : granule_hash(bytes); }},
      {"the first byte", [](ByteView bytes) { return static_cast<std::uint64_t>(bytes[0]); }},
  };
  for (const auto& [name, hash] : hashes) {
    SCOPED_TRACE(name);
    for (const bool exact : {false, true}) {
      PageSettings settings = exact ? every_page() : PageSettings{};
      settings.hash = hash;
      expect_rebuilt(planned(corpus.chips, settings), settings);
    }
  }
}

TEST(PagePlan, WhatIsPresentIsFoundFirstAndLeftAsItIs) {
  const support::ChipCorpus corpus = support::make_chip_corpus(9);

  const Planned plan = planned({corpus.chips[1]}, {}, {corpus.chips[3], corpus.chips[0]});

  expect_rebuilt(plan);
  EXPECT_LE(plan.own_bytes(), 6 * kPage) << "its code";
}

TEST(PagePlan, ReadsAreBoundedAndAFaultIsHandedOn) {
  const support::ChipCorpus corpus = support::make_chip_corpus(10, {.tensors = 40});
  const Planned plan = planned(corpus.chips);
  expect_rebuilt(plan);
  for (const MemoryRecord& record : plan.records) EXPECT_LE(record.largest_read(), std::size_t{1} << 20);

  std::vector<MemoryRecord> records(corpus.chips.begin(), corpus.chips.end());
  records[2].fail();
  std::vector<PageInput> inputs;
  for (const MemoryRecord& record : records) inputs.push_back({&record, 1});
  EXPECT_TRUE(fails_with(plan_pages(inputs, {}, {}), ErrorCode::kIo));
}

TEST(PagePlan, NothingGivesNothing) {
  const Planned plan = planned({});
  ASSERT_TRUE(is_ok(plan.plan));
  EXPECT_TRUE(plan.value().records.empty());
}

}  // namespace page_plan_test
}  // namespace fatctx::container::sharing
