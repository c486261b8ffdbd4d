// Selection for chips: spellings of one part, quirks and generation boundaries as data, source models. The order of the
// records changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fatctx/select.h"
#include "fatctx/soc_table.h"

namespace fatctx {
namespace select_chip_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Candidate chip(std::uint32_t id, std::string_view name, std::string_view part, std::string_view arch,
               std::uint32_t vtcm_mb = 8) {
  return {
      .record_id = id,
      .name = name,
      .key = {.type = RecordType::kContextBinary, .backend = "htp", .part = part, .arch = arch, .vtcm_mb = vtcm_mb}};
}

Candidate source(std::uint32_t id, std::string_view name, std::string_view unit = {}) {
  return {.record_id = id, .name = name, .key = {.type = RecordType::kSourceModel, .unit = unit}};
}

Device named(const std::string& text) { return device_from_text(text).value(); }

std::map<std::uint32_t, std::string> axes(const Selection& selection) {
  std::map<std::uint32_t, std::string> found;
  for (const Verdict& verdict : selection.verdicts) found[verdict.record_id] = axis_id(verdict.axis);
  return found;
}

SocTable table(const std::string& lines) {
  return SocTable::parse("#fatctx.soc_table/1\n#version,test\n#extends,built-in\n#source,LAB,measured\n" + lines +
                             "vendor,part,qnn_soc,arch,runtime\n",
                         "test.csv")
      .value();
}

TEST(SelectChip, SpellingsOfOnePartAreOnePart) {
  for (const char* const spelling : {"SM8750", "sm8750", "SM8750-AC", "SM8750-AB", "SM8750P"}) {
    const std::array candidates = {chip(1, "its", spelling, "v79"), chip(2, "other", "SM8650", "v75")};
    const auto selection = select(candidates, named("SM8750"));

    ASSERT_TRUE(selection.ok());
    EXPECT_THAT(selection.value().chosen, ElementsAre(1)) << spelling;
    EXPECT_EQ(selection.value().tier, 1) << spelling;
  }
  const std::array candidates = {chip(1, "by its other name", "X1E80100", "v73")};
  const Device device = named("SC8380XP");
  const Selection selection = select(candidates, device).value();
  EXPECT_EQ(selection.tier, 1);
  EXPECT_THAT(explain_text(selection, candidates, device), HasSubstr("SC8380XP, which the record calls X1E80100"));
}

TEST(SelectChip, APartThatTheTableDoesNotKnowIsOnlyItself) {
  Device device = {.backend = "htp", .part = "SM9999"};
  const std::array candidates = {chip(1, "other", "SM9998", ""), chip(2, "its", "sm9999", "")};

  const Selection selection = select(candidates, device).value();

  EXPECT_THAT(selection.chosen, ElementsAre(2));
  EXPECT_EQ(axes(selection).at(1), "no_tier");
}

TEST(SelectChip, AQuirkOfTheTableKeepsARecordFromAPartOfItsArch) {
  const std::array candidates = {chip(1, "built for SM8735", "SM8735", "v79"), chip(2, "by number", "", "v79")};
  const Device device = named("SM8750");
  SelectPolicy policy;
  EXPECT_EQ(select(candidates, device, policy).value().tier, 3) << "without the quirk it fits by its arch";

  policy.soc_table = table("#quirk,SM8735,SM8750-AC,LAB,every result is zero\n");
  std::array by_number = candidates;
  by_number[1].key.qnn_soc = 85;  // SM8735, by its number
  const Selection selection = select(by_number, device, policy).value();

  EXPECT_THAT(selection.chosen, IsEmpty());
  EXPECT_THAT(axes(selection), ::testing::Each(::testing::Pair(::testing::_, "A8")));
  EXPECT_EQ(selection.vendor_code, 5008);
  const std::string told = explain_text(selection, by_number, device, policy);
  EXPECT_THAT(told, HasSubstr("a binary for SM8735 is known not to work on SM8750: every result is zero (LAB) [A8]"));
  EXPECT_TRUE(select(by_number, named("SM8650"), policy).ok());
  EXPECT_THAT(select(by_number, named("CQ8750S"), policy).value().chosen, ElementsAre(1)) << "of another device";
}

TEST(SelectChip, QuirksAndBoundariesAreCheckedAsTheTableIsRead) {
  const auto refused = [](const std::string& line) {
    const auto read = SocTable::parse(
        "#fatctx.soc_table/1\n#version,test\n#extends,built-in\n#source,LAB,measured\n" + line + "\nvendor,part\n",
        "test.csv");
    return read.ok() ? std::string() : read.error().message;
  };
  EXPECT_EQ(refused("#quirk,SM8735,SM8750,LAB,every result is zero"), "");
  EXPECT_THAT(refused("#quirk,SM8735,SM9990,LAB,zero"), HasSubstr("test.csv:5: column #quirk: found SM9990"));
  EXPECT_THAT(refused("#quirk,SM8750,SM8750-AC,LAB,zero"), HasSubstr("SM8750 twice"));
  EXPECT_THAT(refused("#quirk,SM8735,SM8750,HEARSAY,zero"), HasSubstr("#source,HEARSAY,MEANING"));
  EXPECT_THAT(refused("#quirk,SM8735,SM8750,LAB"), HasSubstr("#quirk,RECORD,DEVICE,TAG,REASON"));
  EXPECT_THAT(refused("#boundary,73"), HasSubstr("allowed is a Hexagon arch such as v73"));
}

TEST(SelectChip, GenerationBoundariesAreThoseOfTheTableUnlessThePolicyHasItsOwn) {
  const std::array candidates = {chip(1, "v75", "SM8650", "v75")};
  const Device device = named("SM8750");
  SelectPolicy policy = {.allow_lower_arch = true};
  EXPECT_EQ(SocTable::built_in().boundaries(), std::vector<std::uint32_t>{73});
  EXPECT_EQ(select(candidates, device, policy).value().tier, 5);

  policy.soc_table = table("#boundary,v79\n");
  EXPECT_EQ(policy.soc_table->boundaries(), std::vector<std::uint32_t>{79});
  EXPECT_EQ(axes(select(candidates, device, policy).value()).at(1), "A5");
  policy.boundaries.emplace();
  EXPECT_EQ(select(candidates, device, policy).value().tier, 5);
}

TEST(SelectChip, ANewerSdkIsPreferredWhereItFitsAndThePolicyGoesBack) {
  std::array candidates = {chip(1, "old", "SM8650", "v75"), chip(2, "new", "SM8650", "v75")};
  candidates[0].key.sdk = {2, 47, 0};
  candidates[1].key.sdk = {2, 51, 0};
  Device device = named("SM8650");
  device.sdk = Version{2, 52, 0};
  EXPECT_THAT(select(candidates, device).value().chosen, ElementsAre(2));
  device.sdk = Version{2, 48, 0};
  EXPECT_THAT(select(candidates, device).value().chosen, ElementsAre(1));

  device.sdk.reset();
  const SelectPolicy back = {.max_sdk = Version{2, 50, 0}};
  const Selection selection = select(candidates, device, back).value();
  EXPECT_THAT(selection.chosen, ElementsAre(1));
  EXPECT_THAT(explain_text(selection, candidates, device, back),
              HasSubstr("new: made with sdk 2.51, at most 2.50 is allowed [A3]"));
}

TEST(SelectChip, ASourceModelStandsInForAGroupThatNoRecordFits) {
  std::array candidates = {chip(1, "prefill", "SM8650", "v75"), chip(2, "decode", "SM8650", "v75"), source(3, "model"),
                           source(4, "of decode", "decode")};
  candidates[0].key.unit = "prefill";
  candidates[1].key.unit = "decode";
  const SelectPolicy hook = {.prepare_hook = true};

  const Selection fits = select(candidates, named("SM8650"), hook).value();
  EXPECT_EQ(fits.tier, 1);
  EXPECT_EQ(axes(fits).at(3), "outranked");
  EXPECT_EQ(axes(select(candidates, named("SM8650")).value()).at(3), "no_hook");

  const Device other = named("SM8850");
  const Selection prepared = select(candidates, other, hook).value();
  EXPECT_EQ(prepared.tier, 7);
  EXPECT_EQ(prepared.level, Level::kFallback);
  EXPECT_THAT(prepared.chosen, ElementsAre(4, 3)) << "decode has one of its own";
  EXPECT_THAT(prepared.warnings, ElementsAre("source_model"));
  const Selection nobody = select(candidates, other).value();
  EXPECT_THAT(nobody.chosen, IsEmpty());
  EXPECT_EQ(nobody.vendor_code, 5008);
  EXPECT_EQ(axes(nobody).at(3), "no_hook");
  EXPECT_EQ(axes(select(candidates, other, {.strict = true, .prepare_hook = true}).value()).at(3), "strict_lower");

  candidates[2].state = RecordState::kBad;
  EXPECT_EQ(axes(select(candidates, other, hook).value()).at(3), "A2");
  EXPECT_THAT(select(candidates, other, hook).value().chosen, IsEmpty()) << "nothing is left for prefill";
}

TEST(SelectChip, AGroupOfSourceModelsOnlyIsAGroup) {
  const std::array candidates = {source(1, "model")};

  EXPECT_THAT(select(candidates, named("SM8850"), {.prepare_hook = true}).value().chosen, ElementsAre(1));
  EXPECT_THAT(select(candidates, named("SM8850")).value().chosen, IsEmpty());
}

// Records and devices of many kinds, chosen at random: the order of the list changes neither the choice nor any
// verdict.
TEST(SelectChip, PermutingTheRecordsNeverChangesTheChoice) {
  constexpr std::array kParts = {"", "SM8550", "SM8650", "SM8750", "SM8750-AC", "SM8735", "SM8850", "ALL"};
  constexpr std::array kArchs = {"", "v69", "v73", "v75", "v79", "v81"};
  constexpr std::array kUnits = {"", "a", "b"};
  std::mt19937 random(20261122);
  const auto any = [&](const auto& list) { return list[random() % list.size()]; };
  int chosen = 0;
  for (int round = 0; round < 2'000; ++round) {
    std::vector<Candidate> candidates;
    std::vector<std::string> variants(1 + random() % 12);
    for (std::uint32_t id = 0; id < variants.size(); ++id) {
      variants[id] = std::string("variant ") + static_cast<char>('a' + random() % 3);
      Candidate one = chip(id, "record", any(kParts), any(kArchs), static_cast<std::uint32_t>(random() % 3 * 4));
      one.key.unit = random() % 3 == 0 ? any(kUnits) : "";
      one.key.variant = variants[id];
      one.key.sdk = {2, static_cast<std::uint16_t>(46 + random() % 6), 0};
      one.key.generic = random() % 9 == 0;
      if (random() % 6 == 0) one.key.type = RecordType::kSourceModel;
      if (random() % 10 == 0) one.state = RecordState::kBad;
      one.weights_ok = random() % 10 != 0;
      candidates.push_back(one);
    }
    Device device = {.backend = "htp"};
    if (random() % 3 != 0) device.part = any(kParts);
    if (random() % 3 != 0) device.arch = any(kArchs);
    if (random() % 2 != 0) device.vtcm_mb = 4 + random() % 2 * 4;
    if (random() % 2 != 0) device.sdk = Version{2, 49, 0};
    const SelectPolicy policy = {.strict = random() % 4 == 0,
                                 .allow_lower_arch = random() % 2 == 0,
                                 .mix_targets = random() % 3 == 0,
                                 .prepare_hook = random() % 2 == 0};
    const Selection before = select(candidates, device, policy).value();
    chosen += before.chosen.empty() ? 0 : 1;
    std::shuffle(candidates.begin(), candidates.end(), random);
    const Selection after = select(candidates, device, policy).value();

    ASSERT_EQ(after.chosen, before.chosen) << round;
    ASSERT_EQ(axes(after), axes(before)) << round;
    ASSERT_EQ(after.vendor_code, before.vendor_code) << round;
    ASSERT_EQ(after.warnings, before.warnings) << round;
  }
  EXPECT_GT(chosen, 400);
  EXPECT_LT(chosen, 1'900);
}

}  // namespace select_chip_test
}  // namespace fatctx
