// The plan of shared bytes: every record can be restored from it, and it finds the same as a slower and simpler search.
// Only content decides; the order of records and unrelated records change nothing. Shows S3.70.
#include "container/sharing/byte_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "container/read/recipe_format.h"
#include "container/read/recipe_record.h"
#include "support/chip_corpus.h"
#include "support/result_matchers.h"

namespace fatctx::container::sharing {
namespace byte_plan_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class MemoryRecord final : public RecordBytes {
 public:
  explicit MemoryRecord(Bytes bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const noexcept override { return bytes_.size(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    if (reads_left_ == 0) return Error{ErrorCode::kIo, "a fault of the test"};
    --reads_left_;
    is_open_ = true;
    FATCTX_ASSIGN(const ByteView piece, slice(bytes_, {offset, buffer.size()}));
    std::copy(piece.begin(), piece.end(), buffer.begin());
    return Done{};
  }
  void close() const noexcept override { is_open_ = false; }

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] bool is_open() const { return is_open_; }
  void fail_after(std::uint64_t reads) { reads_left_ = reads; }

 private:
  Bytes bytes_;
  mutable std::uint64_t reads_left_ = UINT64_MAX;
  mutable bool is_open_ = false;
};

struct Planned {
  std::vector<MemoryRecord> records;
  std::vector<MemoryRecord> present;
  Result<BytePlan> plan = Error{};

  [[nodiscard]] const ByteRecord& of(std::size_t index) const { return plan.value().records[index]; }
  [[nodiscard]] std::uint64_t stored() const {
    std::uint64_t sum = 0;
    for (const ByteRecord& record : plan.value().records) sum += record.own_bytes + record.program.size();
    return sum;
  }
  [[nodiscard]] Bytes store(std::uint32_t number) const {
    if (number < present.size()) return present[number].bytes();
    const std::size_t index = number - present.size();
    Bytes bytes;
    for (const ByteRange& range : of(index).own) {
      const auto from = records[index].bytes().begin() + static_cast<std::ptrdiff_t>(range.offset);
      bytes.insert(bytes.end(), from, from + static_cast<std::ptrdiff_t>(range.size));
    }
    return bytes;
  }
  [[nodiscard]] Recipe recipe(std::size_t index) const {
    std::vector<ByteRange> sources;  // the concatenated stores are the file
    std::uint64_t at = 0;
    for (const std::uint32_t number : of(index).sources) {
      sources.push_back({at, store(number).size()});
      at += sources.back().size;
    }
    const ByteRecord& record = of(index);
    auto program = unpack_program(record.program, record.packed, {0, record.program.size()});
    return Recipe::read(std::move(program).value(), records[index].size(), sources).value();
  }
  [[nodiscard]] Bytes made(std::size_t index) const {
    if (!of(index).recipe) return store(static_cast<std::uint32_t>(present.size() + index));
    Bytes file;
    for (const std::uint32_t number : of(index).sources) {
      const Bytes bytes = store(number);
      file.insert(file.end(), bytes.begin(), bytes.end());
    }
    Bytes out(static_cast<std::size_t>(records[index].size()));
    const auto read = [&](std::uint64_t offset, std::span<std::byte> into) -> Status {
      FATCTX_ASSIGN(const ByteView piece, slice(file, {offset, into.size()}));
      std::copy(piece.begin(), piece.end(), into.begin());
      return Done{};
    };
    EXPECT_TRUE(is_ok(recipe(index).apply({0, out.size()}, read, out)));
    return out;
  }
};

Planned planned(const std::vector<Bytes>& records, const ByteSettings& settings = {},
                const std::vector<Bytes>& present = {}) {
  Planned result;
  for (const Bytes& bytes : records) result.records.emplace_back(bytes);
  for (const Bytes& bytes : present) result.present.emplace_back(bytes);
  std::vector<const RecordBytes*> inputs;
  std::vector<const RecordBytes*> there;
  for (const MemoryRecord& record : result.records) inputs.push_back(&record);
  for (const MemoryRecord& record : result.present) there.push_back(&record);
  result.plan = plan_bytes(inputs, there, settings);
  return result;
}

void expect_made(const Planned& plan) {
  ASSERT_TRUE(is_ok(plan.plan));
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    EXPECT_TRUE(plan.made(i) == plan.records[i].bytes()) << i;
    EXPECT_FALSE(plan.records[i].is_open()) << i;
  }
  for (const MemoryRecord& record : plan.present) EXPECT_FALSE(record.is_open());
}

// Returns pieces of `base` in another order, some of them twice, with bytes changed, inserted and removed.
Bytes edited(std::mt19937_64& random, const Bytes& base, std::size_t piece) {
  std::vector<Bytes> pieces;
  for (std::size_t at = 0; at < base.size();) {
    const std::size_t size = std::min(base.size() - at, piece + random() % piece);
    const auto from = base.begin() + static_cast<std::ptrdiff_t>(at);
    pieces.emplace_back(from, from + static_cast<std::ptrdiff_t>(size));
    at += size;
  }
  Bytes out;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::size_t of = random() % 5 == 0 ? random() % pieces.size() : i;
    switch (random() % 6) {
      case 0:
        out.push_back(static_cast<std::byte>(random()));
        break;
      case 1: {
        const Bytes more = support::random_bytes(random, random() % 400);
        out.insert(out.end(), more.begin(), more.end());
        break;
      }
      case 2:
        out.resize(out.size() + random() % 9'000, static_cast<std::byte>(random() % 3));
        break;
      default:
        break;
    }
    out.insert(out.end(), pieces[of].begin(), pieces[of].end());
  }
  return out;
}

TEST(BytePlan, EveryRecordIsMadeAgain) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Bytes base = support::random_bytes(random, 300'000 + random() % 100'000);
    std::vector<Bytes> records = {base};
    for (const std::size_t piece : {300U, 2'000U, 60'000U}) records.push_back(edited(random, base, piece));
    records.push_back(edited(random, records[1], 5'000));
    records.push_back(support::random_bytes(random, 200'000));
    ByteSettings settings;
    settings.granule_log2 = static_cast<unsigned>(12 + 2 * (seed % 3));
    settings.min_literal_bytes = seed % 2 == 0 ? 65'536 : 9'000;

    const Planned plan = planned(records, settings);

    expect_made(plan);
    std::uint64_t given = 0;
    for (const Bytes& bytes : records) given += bytes.size();
    EXPECT_LT(plan.stored(), given / 2) << "or nothing was found";
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!plan.of(i).recipe) continue;
      std::uint64_t mappable = 0;
      for (const CongruentRun& run : plan.recipe(i).congruent_runs(std::uint64_t{1} << settings.granule_log2, 1)) {
        mappable += plan.of(i).sources.size() == 1 ? run.size : 0;
      }
      if (plan.of(i).sources.size() == 1) {
        EXPECT_EQ(plan.of(i).mappable_bytes, mappable);
      }
      const Recipe recipe = plan.recipe(i);
      EXPECT_EQ(recipe.steps().size(), plan.of(i).steps);
    }
  }
}

TEST(BytePlan, WhatTwoRecordsHaveBesideTheFirstIsStoredOnceToo) {
  std::mt19937_64 random(9);
  const Bytes base = support::random_bytes(random, 600'000);
  Bytes second;
  for (std::size_t at = 0; at < base.size(); at += 6'000) {  // a word of its own between every two pieces
    const Bytes word = support::random_bytes(random, 1'500);
    second.insert(second.end(), base.begin() + static_cast<std::ptrdiff_t>(at),
                  base.begin() + static_cast<std::ptrdiff_t>(at + 6'000));
    second.insert(second.end(), word.begin(), word.end());
  }
  Bytes third = second;
  third.insert(third.begin() + 20'000, 100, std::byte{1});

  const Planned plan = planned({second, third}, {}, {base});

  expect_made(plan);
  EXPECT_TRUE(plan.of(0).recipe && plan.of(1).recipe);
  EXPECT_LT(plan.stored(), 150'000 + 20'000) << "a hundred words, once";
}

TEST(BytePlan, LiteralsThatCompressWellStayInTheProgram) {
  std::mt19937_64 random(10);
  const Bytes base = support::random_bytes(random, 600'000);
  Bytes record;
  for (std::size_t at = 0; at < base.size(); at += 6'000) {
    record.insert(record.end(), base.begin() + static_cast<std::ptrdiff_t>(at),
                  base.begin() + static_cast<std::ptrdiff_t>(at + 6'000));
    for (int i = 0; i < 1'000; ++i) record.push_back(static_cast<std::byte>(i % 20 == 0 ? random() % 256 : 7U));
  }

  const Planned plan = planned({record}, {}, {base});

  expect_made(plan);
  ASSERT_TRUE(plan.of(0).recipe);
  EXPECT_EQ(plan.of(0).own_bytes, 0U);
  EXPECT_LT(plan.of(0).program.size(), 50'000U);
}

// Does the classic search: it knows every block of the base and tries every byte of the record. It finds each run of at
// least twice a block less one byte. Returns the number of the record's bytes that no run covers.
std::uint64_t not_found_by_blocks(const Bytes& base, const Bytes& record, std::size_t block) {
  const auto text = [](const Bytes& bytes, std::size_t at, std::size_t size) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()) + at, size);
  };
  std::unordered_map<std::string_view, std::size_t> known;
  for (std::size_t at = 0; at + block <= base.size(); at += block) known.emplace(text(base, at, block), at);
  std::uint64_t lost = 0;
  std::size_t free_from = 0;
  for (std::size_t at = 0; at + block <= record.size();) {
    const auto found = known.find(text(record, at, block));
    if (found == known.end()) {
      ++at;
      continue;
    }
    std::size_t source = found->second;
    std::size_t begin = at;
    while (begin > free_from && source > 0 && record[begin - 1] == base[source - 1]) --begin, --source;
    std::size_t end = at + block;
    for (std::size_t from = found->second + block;
         end < record.size() && from < base.size() && record[end] == base[from]; ++from) {
      ++end;
    }
    lost += begin - free_from;
    free_from = at = end;
  }
  return lost + (record.size() - free_from);
}

TEST(BytePlan, FindsWhatASearchAtEveryByteFinds) {
  for (std::uint64_t seed = 20; seed < 26; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Bytes base = support::random_bytes(random, 1'000'000);
    const Bytes record = edited(random, base, 1'500);
    ByteSettings settings;
    settings.min_literal_bytes = UINT64_MAX;  // everything that is not found is a literal

    const Planned plan = planned({record}, settings, {base});

    expect_made(plan);
    ASSERT_TRUE(plan.of(0).recipe);
    const Recipe recipe = plan.recipe(0);
    const std::uint64_t lost = recipe.literals().size();
    std::uint64_t filled = 0;
    for (const RecipeStep& step : recipe.steps()) filled += step.kind == RecipeStep::Kind::kFill ? step.size : 0;
    const std::uint64_t lost_by_blocks = not_found_by_blocks(base, record, 256);
    EXPECT_LT(lost, lost_by_blocks + record.size() / 200);
    EXPECT_GT(lost + filled, lost_by_blocks / 2) << "the two looked at different things";
  }
}

TEST(BytePlan, TheOrderInWhichRecordsAreGivenDecidesNothing) {
  const auto corpus = support::make_chip_corpus(3, {.tensors = 12, .rows = 64});
  const Planned expected = planned(corpus.chips);
  expect_made(expected);
  std::vector<std::size_t> order = {0, 1, 2, 3};
  while (std::next_permutation(order.begin(), order.end())) {
    std::vector<Bytes> chips;
    for (const std::size_t chip : order) chips.push_back(corpus.chips[chip]);
    const Planned plan = planned(chips);
    expect_made(plan);
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(plan.of(i).recipe, expected.of(order[i]).recipe);
      EXPECT_EQ(plan.of(i).own, expected.of(order[i]).own);
      EXPECT_EQ(plan.of(i).steps, expected.of(order[i]).steps);
      EXPECT_EQ(plan.of(i).mappable_bytes, expected.of(order[i]).mappable_bytes);
    }
  }
}

TEST(BytePlan, WhatIsStoredAlreadyIsUsedAndNeverChanged) {
  const auto corpus = support::make_chip_corpus(4, {.tensors = 8});

  const Planned plan = planned({corpus.chips[1], corpus.chips[2]}, {}, {corpus.chips[0]});

  expect_made(plan);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(plan.of(i).recipe);
    ASSERT_FALSE(plan.of(i).sources.empty());
    EXPECT_EQ(plan.of(i).sources.front(), 0U);
    EXPECT_TRUE(std::is_sorted(plan.of(i).sources.begin(), plan.of(i).sources.end()));
  }
  EXPECT_LT(plan.stored(), corpus.chips[0].size() / 10);
}

// Sharing by bytes is for the smallest file, so a group's first record need not stay whole.
TEST(BytePlan, TheFirstOfAGroupBecomesARecipeIfThatSavesASixtyFourth) {
  std::mt19937_64 random(5);
  const Bytes base = support::random_bytes(random, 1'000'000);
  const auto with_part = [&](std::size_t part) {
    Bytes bytes = support::random_bytes(random, 1'000'000 - part);
    // The pieces are too small for chunks, so the two form no group.
    for (std::size_t at = 0; at < part; at += 1'000) {
      const auto from = base.begin() + static_cast<std::ptrdiff_t>(at);
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(random() % bytes.size()), from, from + 1'000);
    }
    return bytes;
  };
  for (const std::size_t part : {10'000U, 30'000U, 400'000U, 900'000U}) {
    Bytes larger = base;
    larger.resize(base.size() + 200'000, std::byte{9});  // the larger group comes first

    const Planned plan = planned({larger, with_part(part)});

    expect_made(plan);
    EXPECT_EQ(plan.plan.value().layout.groups.size(), 2U);
    EXPECT_FALSE(plan.of(0).recipe);
    EXPECT_EQ(plan.of(1).recipe, part > 1'000'000 / 64) << part;
    if (plan.of(1).recipe) {
      EXPECT_LT(plan.stored(), larger.size() + 1'000'000 - part + part / 8) << part;
    }
  }
}

TEST(BytePlan, ARecordOfZerosStaysWholeAsABaseAndIsFilledOtherwise) {
  const Planned plan = planned({Bytes(400'000), Bytes(500'000), Bytes(600'000)});

  expect_made(plan);
  EXPECT_EQ(plan.of(0).recipe + plan.of(1).recipe + plan.of(2).recipe, 2);
}

TEST(BytePlan, AHoleOfAFewThousandZerosIsAFillWhereverItBegins) {
  std::mt19937_64 random(11);
  const Bytes base = support::random_bytes(random, 300'000);
  for (const std::size_t at : {0U, 1U, 77'777U, 150'000U, 300'000U}) {
    Bytes record = base;
    record.insert(record.begin() + static_cast<std::ptrdiff_t>(at), 2'200, std::byte{0});

    const Planned plan = planned({record}, {}, {base});

    expect_made(plan);
    ASSERT_TRUE(plan.of(0).recipe);
    const Recipe recipe = plan.recipe(0);
    EXPECT_LT(recipe.literals().size(), 10U) << at;
  }
}

TEST(BytePlan, ARecipeReadsNoMoreSourcesThanItMay) {
  std::mt19937_64 random(6);
  std::vector<Bytes> present;
  Bytes record;
  for (std::size_t i = 0; i < 10; ++i) {
    present.push_back(support::random_bytes(random, 100'000));
    record.insert(record.end(), present.back().begin(), present.back().begin() + 20'000 + 3'000 * std::ptrdiff_t(i));
  }
  for (const std::uint32_t most : {2U, 5U, 64U}) {
    ByteSettings settings;
    settings.max_sources = most;

    const Planned plan = planned({record}, settings, present);

    expect_made(plan);
    ASSERT_TRUE(plan.of(0).recipe);
    EXPECT_LE(plan.of(0).sources.size(), most);
    EXPECT_EQ(plan.of(0).sources.front(), most >= 11 ? 0U : 11 - most) << "those that are read most are kept";
  }
}

TEST(BytePlan, ARecordThatMightTakeTooManyStepsGivesUpItsRuns) {
  std::mt19937_64 random(7);
  const Bytes base = support::random_bytes(random, 200'000);
  ByteSettings settings;
  settings.min_literal_bytes = 64;  // each literal might become three steps

  const Planned plan = planned({edited(random, base, 500)}, settings, {base});

  expect_made(plan);
  EXPECT_FALSE(plan.of(0).recipe);
}

TEST(BytePlan, AFaultOfASourceIsTheErrorOfThePlan) {
  const auto corpus = support::make_chip_corpus(8, {.tensors = 3});
  for (std::size_t failing = 0; failing < 3; ++failing) {
    std::size_t refused = 0;
    for (std::uint64_t reads = 0; reads < 200; ++reads) {
      std::vector<MemoryRecord> records;
      for (std::size_t i = 0; i < 3; ++i) records.emplace_back(corpus.chips[i]);
      records[failing].fail_after(reads);
      const std::vector<const RecordBytes*> inputs = {&records[0], &records[1], &records[2]};
      const auto plan = plan_bytes(inputs, {}, {});
      if (plan.ok()) break;
      EXPECT_TRUE(fails_with(plan, ErrorCode::kIo));
      ++refused;
    }
    EXPECT_GT(refused, 3U) << failing;
    EXPECT_LT(refused, 200U) << "it never succeeds";
  }
}

}  // namespace byte_plan_test
}  // namespace fatctx::container::sharing
