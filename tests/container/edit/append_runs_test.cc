// Appends to a file that shares bytes at any offset: the new records share so too, with the file and with each other.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "container/check/verify.h"
#include "container/read/opened_file.h"
#include "support/appended.h"
#include "support/result_matchers.h"
#include "support/tensor_corpus.h"

namespace fatctx::container {
namespace append_runs_test {

using support::append;
using support::Appended;
using support::Bytes;
using support::is_ok;

constexpr std::size_t kBlock = 50'000;

// Blocks by letter, each behind `gap` bytes that only this version has.
Bytes blocks(const std::string& letters, std::size_t gap, std::uint32_t version) {
  Bytes all;
  for (const char letter : letters) {
    const Bytes between = support::pattern(gap, 900 + version);
    const Bytes block = support::pattern(kBlock, static_cast<std::uint32_t>(letter));
    all.insert(all.end(), between.begin(), between.end());
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

Bytes packed(Sharing sharing) {
  PackOptions options;
  options.sharing = sharing;
  return support::packed_bytes({support::binary_record("one", "v68", blocks("abcdefgh", 0, 0)),
                                support::binary_record("two", "v73", blocks("hgfedcba", 256, 1))},
                               options);
}

void expect_record(const Appended& done, const std::string& name, const Bytes& wanted) {
  const Opened opened(done.bytes);
  EXPECT_EQ(opened.bytes_of(name).value(), wanted) << name;
  EXPECT_TRUE(verify_container(opened.file, {}).value().findings.empty()) << name;
}

TEST(AppendRuns, TheNextVersionCostsWhatIsNewAboutIt) {
  const Bytes before = packed(Sharing::kBytes);
  const Bytes next = blocks("bdfhaceg", 512, 2);

  const Appended done = append(before, {support::binary_record("three", "v75", next)});

  ASSERT_TRUE(is_ok(done.report));
  expect_record(done, "three", next);
  EXPECT_TRUE(Opened(done.bytes).record("three").recipe);
  EXPECT_GE(done.report.value().shared_bytes, 8 * kBlock - 2'000);
  EXPECT_LE(done.bytes.size() - before.size(), 220'000u);  // tables and padding to extents of 64 KiB
}

TEST(AppendRuns, NewRecordsShareWithEachOtherAsWell) {
  for (const bool swapped : {false, true}) {  // either of the two is the source of the other
    const Bytes first = swapped ? blocks("bsrqp", 512, 4) : blocks("pqrsa", 256, 3);
    const Bytes second = swapped ? blocks("pqrsa", 256, 3) : blocks("bsrqp", 512, 4);

    const Appended done = append(packed(Sharing::kBytes), {support::binary_record("three", "v75", first),
                                                           support::binary_record("four", "v79", second)});

    ASSERT_TRUE(is_ok(done.report));
    expect_record(done, "three", first);
    expect_record(done, "four", second);
    EXPECT_GE(done.report.value().shared_bytes, 6 * kBlock - 4'000);
  }
}

// "four" is a leaf of "three" at first. Then "three" becomes a recipe, which stores that leaf at another place.
TEST(AppendRuns, ALeafOfANewRecordThatBecomesARecipeIsStoredByTheOther) {
  Bytes three = blocks("bdfhaceg", 512, 2);
  three.resize(three.size() / kLeafSize * kLeafSize);
  const Bytes own = support::pattern(2 * kLeafSize, 78);
  three.insert(three.end(), own.begin(), own.end());
  const Bytes four(own.begin() + kLeafSize, own.end());

  const Appended done = append(packed(Sharing::kBytes), {support::binary_record("three", "v75", three),
                                                         support::binary_record("four", "v79", four)});

  ASSERT_TRUE(is_ok(done.report));
  expect_record(done, "three", three);
  expect_record(done, "four", four);
  EXPECT_TRUE(Opened(done.bytes).record("three").recipe);
}

TEST(AppendRuns, ARecordOfOneLeafStaysAsItIs) {
  const Bytes before = packed(Sharing::kBytes);
  const Bytes all = blocks("abcdefgh", 0, 0);
  for (const std::size_t more : {0U, 1U}) {
    const Bytes part(all.begin() + 1'001, all.begin() + 1'001 + kLeafSize + static_cast<int>(more));
    const Appended done = append(before, {support::binary_record("three", "v75", part)});
    ASSERT_TRUE(is_ok(done.report));
    expect_record(done, "three", part);
    EXPECT_EQ(Opened(done.bytes).record("three").recipe, more == 1);
  }
}

TEST(AppendRuns, SavingASixtyFourthOfTheRecordIsEnough) {
  constexpr std::size_t kSize = 64 * 4'000;
  const Bytes before = packed(Sharing::kBytes);
  const Bytes all = blocks("abcdefgh", 0, 0);
  std::uint64_t least = kSize;
  for (std::size_t old = 4'060;; --old) {
    ASSERT_GT(old, 4'000U);
    Bytes next = support::pattern(kSize - old, 79);
    next.insert(next.end(), all.begin() + 1'001, all.begin() + 1'001 + static_cast<std::ptrdiff_t>(old));
    const Appended done = append(before, {support::binary_record("three", "v75", next)});
    ASSERT_TRUE(is_ok(done.report));
    if (!Opened(done.bytes).record("three").recipe) break;
    least = done.report.value().records[0].shared_bytes;
  }
  EXPECT_EQ(least, kSize / 64);
}

TEST(AppendRuns, ASixtyFourthOfAllNewRecordsMustBeSaved) {
  const Bytes before = packed(Sharing::kBytes);
  const Bytes all = blocks("abcdefgh", 0, 0);
  Bytes next = support::pattern(250'000, 79);
  next.insert(next.end(), all.begin() + 1'001, all.begin() + 7'001);
  for (const bool more : {false, true}) {
    std::vector<PackRecord> records = {support::binary_record("three", "v75", next)};
    if (more) records.push_back(support::binary_record("four", "v79", support::pattern(300'000, 80)));
    const Appended done = append(before, std::move(records));
    ASSERT_TRUE(is_ok(done.report));
    EXPECT_EQ(Opened(done.bytes).record("three").recipe, !more);
  }
}

// The new record has the bytes of another one 4 KiB further on: that is a granule or it is none.
TEST(AppendRuns, WhatCanBeMappedFollowsTheGranuleOfTheFile) {
  const Bytes old = blocks("abcd", 0, 0);
  Bytes next = support::pattern(4'096, 81);
  next.insert(next.end(), old.begin(), old.end());
  for (const std::uint8_t granule_log2 : {std::uint8_t{12}, std::uint8_t{16}}) {
    PackOptions packing;
    packing.granule_log2 = granule_log2;
    AppendOptions options;
    options.sharing = Sharing::kBytes;
    const Appended done = append(support::packed_bytes({support::binary_record("one", "v68", old)}, packing),
                                 {support::binary_record("three", "v75", next)}, options);
    ASSERT_TRUE(is_ok(done.report));
    const PackedRecordReport& report = done.report.value().records[0];
    EXPECT_NE(report.recipe_steps, 0U);
    EXPECT_EQ(report.mappable_bytes > 3 * kBlock, granule_log2 == 12) << report.mappable_bytes;
  }
}

TEST(AppendRuns, ManyGenerationsStayReadableAndSmall) {
  Bytes file = packed(Sharing::kBytes);
  const std::size_t size = file.size();
  for (std::uint32_t version = 0; version < 6; ++version) {
    const Bytes wanted = blocks("hbdfaceg", 256 * (version + 3), version + 10);
    const std::string name = "next " + std::to_string(version);
    Appended done = append(file, {support::binary_record(name, "v" + std::to_string(80 + version), wanted)});
    ASSERT_TRUE(is_ok(done.report));
    expect_record(done, name, wanted);
    file = std::move(done.bytes);
  }
  EXPECT_LE(file.size() - size, 6 * 220'000u);
}

TEST(AppendRuns, AFileWithoutRecipesGetsNone) {
  const Bytes next = blocks("bdfhaceg", 512, 2);
  const Appended done = append(packed(Sharing::kPages), {support::binary_record("three", "v75", next)});
  ASSERT_TRUE(is_ok(done.report));
  expect_record(done, "three", next);
  EXPECT_FALSE(Opened(done.bytes).record("three").recipe);
}

TEST(AppendRuns, TensorsThatAreStoredOnceDoNotCount) {
  const std::vector<support::CorpusTensor> tensors = support::corpus_tensors(7, 8);
  const Bytes before = support::packed_bytes({support::blob_record("weights", tensors),
                                              support::blob_record("more weights", support::shuffled(tensors, 3)),
                                              support::binary_record("one", "v68", blocks("abcdefgh", 0, 0))});
  const Opened opened(before);
  ASSERT_TRUE(opened.record("weights").recipe || opened.record("more weights").recipe);

  const Appended done = append(before, {support::binary_record("three", "v75", blocks("bdfhaceg", 512, 2))});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_FALSE(Opened(done.bytes).record("three").recipe) << "`compact` calls this a file by pages, too";
}

TEST(AppendRuns, TheCallerDecidesOtherwise) {
  const Bytes next = blocks("bdfhaceg", 512, 2);
  for (const Sharing sharing : {Sharing::kPages, Sharing::kBytes}) {
    AppendOptions options;
    options.sharing = sharing;
    const Bytes before = packed(sharing == Sharing::kPages ? Sharing::kBytes : Sharing::kPages);
    const Appended done = append(before, {support::binary_record("three", "v75", next)}, options);
    ASSERT_TRUE(is_ok(done.report));
    expect_record(done, "three", next);
    EXPECT_EQ(Opened(done.bytes).record("three").recipe, sharing == Sharing::kBytes);
  }
}

TEST(AppendRuns, OffIsRefused) {
  AppendOptions options;
  options.sharing = Sharing::kOff;
  const Appended done = append(packed(Sharing::kBytes), {support::binary_record("three", "v75", Bytes(9))}, options);
  EXPECT_TRUE(support::fails_with(done.report, ErrorCode::kInvalidArgument));
}

TEST(AppendRuns, SlicesStayWhereRunsSaveNothing) {
  const Bytes before = packed(Sharing::kBytes);
  Bytes next = Opened(before).record("one").recipe ? blocks("hgfedcba", 256, 1) : blocks("abcdefgh", 0, 0);
  const Bytes tail = support::pattern(2 * kLeafSize, 77);
  next.resize(next.size() / kLeafSize * kLeafSize);
  next.insert(next.end(), tail.begin(), tail.end());

  const Appended done = append(before, {support::binary_record("three", "v75", next)});

  ASSERT_TRUE(is_ok(done.report));
  expect_record(done, "three", next);
  EXPECT_FALSE(Opened(done.bytes).record("three").recipe) << "it can be mapped as it is";
}

TEST(AppendRuns, DamagedBytesOfTheFileAreNoSource) {
  Bytes before = packed(Sharing::kBytes);
  const std::string whole = Opened(before).record("one").recipe ? "two" : "one";
  const std::uint64_t at = Opened(before).record(whole).file_offset + 3 * kBlock;
  before[static_cast<std::size_t>(at)] ^= std::byte{1};
  const Bytes next = blocks("bdfhaceg", 512, 2);

  const Appended done = append(before, {support::binary_record("three", "v75", next)});

  ASSERT_TRUE(is_ok(done.report));
  EXPECT_EQ(Opened(done.bytes).bytes_of("three").value(), next);
  EXPECT_FALSE(Opened(done.bytes).record("three").recipe) << "all of its source is one segment, which is damaged";
}

TEST(AppendRuns, ARecordThatGoesIsNoSource) {
  const Bytes before = packed(Sharing::kBytes);
  const std::string recipe = Opened(before).record("one").recipe ? "one" : "two";
  const Bytes next = blocks("bdfhaceg", 512, 2);
  AppendOptions options;
  options.replace = true;
  const Appended done =
      append(before, {support::binary_record(recipe, recipe == "one" ? "v68" : "v73", next)}, options);
  ASSERT_TRUE(is_ok(done.report));
  expect_record(done, recipe, next);
}

}  // namespace append_runs_test
}  // namespace fatctx::container
