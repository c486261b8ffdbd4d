// The plan of equal parts: every record can be restored from it, and colliding hashes change nothing that is read back.
// Neither order nor threads decide anything. Shows S3.70.
#include "container/sharing/part_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <random>
#include <vector>

#include "container/read/recipe_record.h"
#include "container/sharing/parallel.h"
#include "support/chip_corpus.h"
#include "support/result_matchers.h"

namespace fatctx::container::sharing {
namespace part_plan_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class MemoryRecord final : public RecordBytes {
 public:
  explicit MemoryRecord(Bytes bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const noexcept override { return bytes_.size(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    if (reads_left_.fetch_sub(1) <= 0) return Error{ErrorCode::kIo, "a fault of the test"};
    is_open_ = true;
    FATCTX_ASSIGN(const ByteView piece, slice(bytes_, {offset, buffer.size()}));
    std::copy(piece.begin(), piece.end(), buffer.begin());
    return Done{};
  }
  void close() const noexcept override { is_open_ = false; }

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] bool is_open() const { return is_open_; }
  void fail_after(std::int64_t reads) { reads_left_ = reads; }

 private:
  Bytes bytes_;
  mutable std::atomic<std::int64_t> reads_left_{INT64_MAX};
  mutable std::atomic<bool> is_open_{false};
};

// A set of records with parts at multiples of `alignment`, and a few other bytes before and between them.
struct Corpus {
  std::deque<MemoryRecord> records;
  std::vector<std::vector<KnownPart>> parts;

  void add(const std::vector<Bytes>& of, std::size_t alignment, std::size_t front) {
    Bytes bytes(front, std::byte{9});
    std::vector<KnownPart> places;
    for (const Bytes& part : of) {
      bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
      places.push_back({{bytes.size(), part.size()}, 4});
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    records.emplace_back(std::move(bytes));
    parts.push_back(std::move(places));
  }
  [[nodiscard]] Result<PartPlan> plan(const PartSettings& settings = {}) const {
    std::vector<PartInput> inputs;
    for (std::size_t i = 0; i < records.size(); ++i) inputs.push_back({&records[i], parts[i]});
    return plan_parts(inputs, settings);
  }
  [[nodiscard]] Bytes own(const ByteRecord& record, std::size_t index) const {
    Bytes bytes;
    for (const ByteRange& range : record.own) {
      const auto from = records[index].bytes().begin() + static_cast<std::ptrdiff_t>(range.offset);
      bytes.insert(bytes.end(), from, from + static_cast<std::ptrdiff_t>(range.size));
    }
    EXPECT_EQ(bytes.size(), record.own_bytes);
    return bytes;
  }
};

std::vector<Bytes> random_parts(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Bytes> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back(support::random_bytes(random, 4 * (1 + random() % 6'000)));
  return parts;
}

// Checks that each recipe makes its record, from consecutive segments that are aligned to 64 KiB.
void expect_made(const Corpus& corpus, const PartPlan& plan) {
  Bytes file;
  std::vector<ByteRange> segments;
  for (std::size_t i = 0; i < corpus.records.size(); ++i) {
    file.resize((file.size() + 65'535) / 65'536 * 65'536);
    const Bytes own = corpus.own(plan.records[i], i);
    segments.push_back({file.size(), own.size()});
    file.insert(file.end(), own.begin(), own.end());
    EXPECT_FALSE(corpus.records[i].is_open()) << i;
  }
  for (std::size_t i = 0; i < corpus.records.size(); ++i) {
    const ByteRecord& record = plan.records[i];
    if (!record.recipe) {
      EXPECT_EQ(record.own_bytes, corpus.records[i].size());
      continue;
    }
    std::vector<ByteRange> sources;
    for (const std::uint32_t source : record.sources) sources.push_back(segments[source]);
    auto program = unpack_program(record.program, record.packed, {});
    ASSERT_TRUE(is_ok(program));
    const auto recipe = Recipe::read(std::move(program).value(), corpus.records[i].size(), sources);
    ASSERT_TRUE(is_ok(recipe));
    Bytes made(corpus.records[i].bytes().size());
    const auto status = recipe.value().apply(
        {0, made.size()},
        [&](std::uint64_t offset, std::span<std::byte> out) -> Status {
          std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
          return Done{};
        },
        made);
    ASSERT_TRUE(is_ok(status));
    EXPECT_TRUE(made == corpus.records[i].bytes()) << i;
    for (const KnownPart& part : corpus.parts[i]) {
      const auto steps = recipe.value().steps_in(part.range);
      ASSERT_EQ(steps.size(), 1U) << "a part is one copy";
      EXPECT_EQ(steps[0].kind, RecipeStep::Kind::kCopy);
      EXPECT_EQ((steps[0].source + part.range.offset - steps[0].target) % 4, part.range.offset % 4);
    }
  }
}

Corpus shuffled_corpus(std::size_t records) {
  Corpus corpus;
  const std::vector<Bytes> common = random_parts(1, 40);
  for (std::size_t i = 0; i < records; ++i) {
    std::vector<Bytes> parts = random_parts(10 + i, 3);
    parts.insert(parts.end(), common.begin(), common.end());
    std::mt19937_64 random(i);
    std::shuffle(parts.begin(), parts.end(), random);
    corpus.add(parts, i % 2 == 0 ? 64 : 4, 100 * i + 8);
  }
  return corpus;
}

TEST(PartPlan, EachPartIsOneCopyAndStoredOnce) {
  const Corpus corpus = shuffled_corpus(4);
  const auto plan = corpus.plan();
  ASSERT_TRUE(is_ok(plan));
  expect_made(corpus, plan.value());
  ASSERT_EQ(plan.value().families.size(), 1U);
  EXPECT_EQ(plan.value().families[0].size(), 4U);
  const ByteRecord& first = plan.value().records[plan.value().families[0][0]];
  EXPECT_FALSE(first.recipe);
  EXPECT_EQ(plan.value().families[0][0] % 2, 0U) << "the well-aligned ones come first";
  EXPECT_EQ(std::count_if(plan.value().records.begin(), plan.value().records.end(),
                          [](const ByteRecord& record) { return record.recipe; }),
            3);
}

TEST(PartPlan, CollidingHashesChangeNothingThatIsReadBack) {
  const Corpus corpus = shuffled_corpus(3);
  PartSettings settings;
  for (const unsigned bits : {0U, 2U}) {
    settings.hash = [&](const Hash128& hash) {
      Hash128 weak;
      weak.bytes[0] = hash.bytes[0] & std::byte((1U << bits) - 1);
      return weak;
    };
    const auto plan = corpus.plan(settings);
    ASSERT_TRUE(is_ok(plan));
    expect_made(corpus, plan.value());
  }
}

TEST(PartPlan, ThreadsChangeNothing) {
  const Corpus corpus = shuffled_corpus(5);
  const auto one = corpus.plan();
  ASSERT_TRUE(is_ok(one));
  PartSettings settings;
  for (const unsigned threads : {2U, 7U}) {
    settings.threads = threads;
    const auto several = corpus.plan(settings);
    ASSERT_TRUE(is_ok(several));
    for (std::size_t i = 0; i < corpus.records.size(); ++i) {
      EXPECT_EQ(several.value().records[i].program, one.value().records[i].program);
      EXPECT_EQ(several.value().records[i].own, one.value().records[i].own);
    }
  }
}

TEST(PartPlan, ARecordReadsNoMoreStoresThanItMay) {
  Corpus corpus;
  std::vector<Bytes> all;
  for (std::size_t i = 0; i < 6; ++i) {
    const std::vector<Bytes> parts = random_parts(30 + i, 4 + i);
    all.insert(all.end(), parts.begin(), parts.end());
    corpus.add(parts, 64, 0);
  }
  corpus.add(all, 4, 4);
  PartSettings settings;
  settings.max_sources = 4;
  const auto plan = corpus.plan(settings);
  ASSERT_TRUE(is_ok(plan));
  expect_made(corpus, plan.value());
  EXPECT_TRUE(plan.value().records[6].recipe);
  EXPECT_LE(plan.value().records[6].sources.size(), 4U);
}

TEST(PartPlan, ARecordAloneStaysWholeUnlessItHoldsEverythingTwice) {
  Corpus corpus;
  std::vector<Bytes> parts = random_parts(40, 10);
  parts.push_back(parts[3]);
  corpus.add(parts, 64, 0);
  EXPECT_TRUE(corpus.plan().value().families.empty());
  EXPECT_FALSE(corpus.plan().value().records[0].recipe);

  Corpus twice;
  parts = random_parts(41, 10);
  const std::vector<Bytes> again = parts;
  for (int i = 0; i < 2; ++i) parts.insert(parts.end(), again.begin(), again.end());
  twice.add(parts, 64, 0);
  const auto plan = twice.plan();
  ASSERT_TRUE(is_ok(plan));
  EXPECT_TRUE(plan.value().records[0].recipe);
  expect_made(twice, plan.value());
}

TEST(PartPlan, OverlappingPartsAreOne) {
  Corpus corpus;
  const std::vector<Bytes> parts = random_parts(50, 12);
  corpus.add(parts, 64, 0);
  corpus.add({parts.rbegin(), parts.rend()}, 64, 64);
  for (std::size_t i = 0; i < 2; ++i) {
    const ByteRange whole = corpus.parts[i][5].range;
    corpus.parts[i].push_back({{whole.offset, whole.size / 2}, 1});
    corpus.parts[i].push_back({{whole.offset + whole.size / 4, whole.size / 2}, 1});
  }
  const auto plan = corpus.plan();
  ASSERT_TRUE(is_ok(plan));
  EXPECT_EQ(plan.value().families.size(), 1U);
  expect_made(corpus, plan.value());
}

TEST(PartPlan, AReadThatFailsEndsIt) {
  Corpus corpus = shuffled_corpus(2);
  for (std::int64_t reads = 0; reads < 8; ++reads) {
    corpus.records[1].fail_after(reads);
    PartSettings settings;
    settings.threads = reads % 2 == 0 ? 1 : 3;
    EXPECT_TRUE(fails_with(corpus.plan(settings), ErrorCode::kIo)) << reads;
  }
}

TEST(Parallel, EachIndexIsWorkedOnOnceAndTheFirstErrorCounts) {
  for (const unsigned threads : {1U, 2U, 9U}) {
    std::vector<std::atomic<int>> seen(500);
    EXPECT_TRUE(is_ok(for_each_index(threads, seen.size(), [&](std::size_t index) -> Status {
      ++seen[index];
      return Done{};
    })));
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const std::atomic<int>& count) { return count == 1; }));
    const auto failed = for_each_index(threads, 100, [](std::size_t index) -> Status {
      if (index % 2 == 1) return Error{ErrorCode::kIo, index == 1 ? "first" : "later"};
      return Done{};
    });
    EXPECT_TRUE(fails_with(failed, ErrorCode::kIo));
    EXPECT_THROW((void)for_each_index(threads, 10, [](std::size_t) -> Status { throw std::bad_alloc(); }),
                 std::bad_alloc);
  }
  EXPECT_EQ(thread_count(5), 5U);
  EXPECT_GE(thread_count(0), 1U);
  EXPECT_LE(thread_count(0), 8U);
}

}  // namespace part_plan_test
}  // namespace fatctx::container::sharing
