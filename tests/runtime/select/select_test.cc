#include "fatctx/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace fatctx {
namespace select_test {

constexpr RecordType kBinary = RecordType::kContextBinary;

Candidate cpu_record(std::uint32_t id, std::string_view name, std::string_view arch, std::string_view features = {}) {
  return {.record_id = id,
          .name = name,
          .key = {.type = kBinary, .group = "text", .backend = "cpu", .arch = arch, .features = features}};
}

Candidate generic_record(std::uint32_t id, std::string_view name) {
  return {.record_id = id, .name = name, .key = {.type = kBinary, .group = "text", .backend = "cpu", .generic = true}};
}

Device cpu_device(std::string arch, std::vector<std::string> features = {}) {
  return {.arch = std::move(arch), .features = std::move(features)};
}

TEST(Select, GivesOneVerdictForEachContextBinaryAndNoneForOtherRecords) {
  std::vector<Candidate> candidates = {cpu_record(4, "v2", "x86-64-v2"), cpu_record(5, "v3", "x86-64-v3")};
  candidates.push_back({.record_id = 6, .name = "weights", .key = {.type = RecordType::kWeightBlob, .group = "text"}});

  const auto selection = select(candidates, cpu_device("x86-64-v3"));

  ASSERT_TRUE(selection.ok());
  ASSERT_EQ(selection.value().verdicts.size(), 2u);
  EXPECT_EQ(selection.value().verdicts[0].record_id, 4u);
  EXPECT_EQ(selection.value().verdicts[0].axis, Axis::kOutranked);
  EXPECT_EQ(selection.value().verdicts[0].tier, 5);
  EXPECT_EQ(selection.value().verdicts[0].level, Level::kPreferRecompilation);
  EXPECT_FALSE(selection.value().verdicts[0].chosen);
  EXPECT_EQ(selection.value().verdicts[1].record_id, 5u);
  EXPECT_EQ(selection.value().verdicts[1].axis, Axis::kNone);
  EXPECT_EQ(selection.value().verdicts[1].tier, 3);
  EXPECT_TRUE(selection.value().verdicts[1].chosen);
  EXPECT_EQ(selection.value().chosen, std::vector<std::uint32_t>{5});
  EXPECT_EQ(selection.value().group, "text");
}

TEST(Select, AContainerWithoutContextBinariesMatchesNothing) {
  const std::vector<Candidate> candidates = {
      {.record_id = 1, .name = "weights", .key = {.type = RecordType::kWeightBlob}}};

  const auto selection = select(candidates, cpu_device("x86-64-v3"));

  ASSERT_TRUE(selection.ok());
  EXPECT_TRUE(selection.value().verdicts.empty());
  EXPECT_TRUE(selection.value().chosen.empty());
  EXPECT_EQ(selection.value().vendor_code, 5008);
}

TEST(Select, EmptyFactsOfTheDeviceAreUnknownAndNeverEqualEmptyFactsOfARecord) {
  const std::vector<Candidate> candidates = {
      {.record_id = 1, .name = "arch only", .key = {.type = kBinary, .backend = "htp", .arch = "v75"}}};
  const Device device = {.backend = "htp", .part = "", .qnn_soc = 0, .arch = ""};

  const auto selection = select(candidates, device);

  ASSERT_TRUE(selection.ok());
  EXPECT_TRUE(selection.value().chosen.empty());
  EXPECT_EQ(selection.value().verdicts[0].axis, Axis::kNoTier);
}

TEST(Select, ArchsThatAreNoHexagonNumbersMatchOnlyWhenEqual) {
  const std::vector<Candidate> candidates = {
      {.record_id = 1, .name = "older", .key = {.type = kBinary, .backend = "cuda", .arch = "sm_86"}},
      {.record_id = 2, .name = "equal", .key = {.type = kBinary, .backend = "cuda", .arch = "sm_89"}},
      {.record_id = 3, .name = "newer", .key = {.type = kBinary, .backend = "cuda", .arch = "sm_90"}},
      {.record_id = 4, .name = "numbered", .key = {.type = kBinary, .backend = "cuda", .arch = "v90"}}};
  const Device device = {.backend = "cuda", .arch = "sm_89"};

  const auto selection = select(candidates, device, {.allow_lower_arch = true});

  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(selection.value().chosen, std::vector<std::uint32_t>{2});
  EXPECT_EQ(selection.value().verdicts[0].axis, Axis::kNoTier);
  EXPECT_EQ(selection.value().verdicts[2].axis, Axis::kNoTier);
  EXPECT_EQ(selection.value().verdicts[3].axis, Axis::kNoTier);
  EXPECT_TRUE(selection.value().warnings.empty());
}

TEST(Select, PatchReleasesOfAnSdkReadEachOthersRecords) {
  std::vector<Candidate> candidates = {
      {.record_id = 1, .name = "a", .key = {.type = kBinary, .backend = "htp", .arch = "v75", .sdk = {2, 48, 7, 9}}}};
  const Device device = {.backend = "htp", .arch = "v75", .sdk = Version{2, 48, 1, 0}};

  EXPECT_EQ(select(candidates, device).value().chosen.size(), 1u);
  candidates[0].key.sdk = {2, 49, 0, 0};
  EXPECT_EQ(select(candidates, device).value().verdicts[0].axis, Axis::kVersion);
}

TEST(Select, LevelAndTierAreTheLowestOfTheChosenUnits) {
  std::vector<Candidate> candidates = {cpu_record(1, "prefill", "x86-64-v3"), cpu_record(2, "decode", "x86-64-v2")};
  candidates[0].key.unit = "prefill";
  candidates[1].key.unit = "decode";

  const auto selection = select(candidates, cpu_device("x86-64-v3"), {.mix_targets = true});

  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(selection.value().chosen, (std::vector<std::uint32_t>{2, 1}));  // units in order: decode, prefill
  EXPECT_EQ(selection.value().tier, 5);
  EXPECT_EQ(selection.value().level, Level::kPreferRecompilation);
  EXPECT_EQ(selection.value().verdicts[0].level, Level::kOptimal);
}

TEST(Select, EmptyFactsOfACpuAreUnknownToo) {
  const std::vector<Candidate> candidates = {cpu_record(1, "v2", "x86-64-v2")};

  EXPECT_EQ(select(candidates, cpu_device("")).value().verdicts[0].axis, Axis::kNoTier);
}

TEST(Select, ARecordMarkedGenericStaysAFallbackWhereItsArchFits) {
  std::vector<Candidate> candidates = {cpu_record(1, "any arm", "aarch64")};
  candidates[0].key.generic = true;

  EXPECT_EQ(select(candidates, cpu_device("aarch64", {"sve"})).value().tier, 6);
  EXPECT_EQ(select(candidates, cpu_device("aarch64")).value().tier, 6);
  EXPECT_EQ(select(candidates, cpu_device("x86-64-v2")).value().verdicts[0].axis, Axis::kIsa);
}

TEST(Select, VtcmThatIsNotStatedSortsAsFourMegabytes) {
  std::vector<Candidate> candidates;
  for (const std::uint32_t vtcm_mb : {2u, 0u, 8u}) {
    candidates.push_back({.record_id = 10 + vtcm_mb,
                          .name = "r",
                          .key = {.type = kBinary, .backend = "htp", .part = "SM8650", .vtcm_mb = vtcm_mb}});
  }
  const Device device = {.backend = "htp", .part = "SM8650"};

  EXPECT_EQ(select(candidates, device).value().chosen, std::vector<std::uint32_t>{18});
  candidates.pop_back();
  EXPECT_EQ(select(candidates, device).value().chosen, std::vector<std::uint32_t>{10});
}

TEST(Select, StrictRefusesAnArchMatchWhoseVtcmIsNotStated) {
  const std::vector<Candidate> candidates = {
      {.record_id = 1, .name = "a", .key = {.type = kBinary, .backend = "htp", .arch = "v75"}}};
  const Device device = {.backend = "htp", .arch = "v75", .vtcm_mb = 8};

  EXPECT_EQ(select(candidates, device).value().tier, 4);
  EXPECT_EQ(select(candidates, device, {.strict = true}).value().verdicts[0].axis, Axis::kStrict);
}

TEST(Select, TheCodeForMixedReasonsTellsIfStrictIsAmongThem) {
  const std::vector<Candidate> candidates = {
      {.record_id = 1, .name = "less vtcm", .key = {.type = kBinary, .backend = "htp", .arch = "v75", .vtcm_mb = 2}},
      {.record_id = 2, .name = "newer", .key = {.type = kBinary, .backend = "htp", .arch = "v79", .vtcm_mb = 8}}};
  const Device device = {.backend = "htp", .arch = "v75", .vtcm_mb = 8};

  EXPECT_EQ(select(candidates, device, {.strict = true}).value().vendor_code, 5011);
}

TEST(Select, RecordsPassedOverForANamedOneDoNotChangeTheCode) {
  std::vector<Candidate> candidates = {cpu_record(1, "v3", "x86-64-v3"), cpu_record(2, "npu", "v75")};
  candidates[1].key.backend = "htp";

  EXPECT_EQ(select(candidates, cpu_device("x86-64-v3"), {.record_override = "npu"}).value().vendor_code, 1008);
}

TEST(Select, OfTwoRecordsWithOneKeyOnlyTheNamedOneIsTaken) {
  const std::vector<Candidate> candidates = {cpu_record(1, "first", "x86-64-v3"), cpu_record(2, "second", "x86-64-v3")};

  const auto selection = select(candidates, cpu_device("x86-64-v3"), {.record_override = "second"});

  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(selection.value().chosen, std::vector<std::uint32_t>{2});
  EXPECT_EQ(selection.value().verdicts[0].axis, Axis::kOverride);
}

TEST(Select, MixingTakesTheBestRecordForEachUnit) {
  std::vector<Candidate> candidates = {cpu_record(1, "v2", "x86-64-v2"), cpu_record(2, "v3", "x86-64-v3"),
                                       cpu_record(3, "any", ""), cpu_record(4, "v2 decode", "x86-64-v2")};
  candidates[3].key.unit = "decode";
  candidates[3].key.variant = "small";

  const auto selection = select(candidates, cpu_device("x86-64-v3"), {.mix_targets = true});

  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(selection.value().chosen, (std::vector<std::uint32_t>{2, 4}));
  EXPECT_EQ(selection.value().verdicts[0].axis, Axis::kOutranked);
  EXPECT_EQ(selection.value().verdicts[2].axis, Axis::kOutranked);
}

TEST(SelectErrors, AGroupThatIsNotThere) {
  const std::vector<Candidate> candidates = {cpu_record(1, "v2", "x86-64-v2")};

  const auto selection = select(candidates, cpu_device("x86-64-v3"), {.group = "speech"});

  ASSERT_FALSE(selection.ok());
  EXPECT_EQ(selection.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(selection.error().message, "group \"speech\" does not exist; the container has \"text\"");
}

TEST(SelectErrors, SeveralGroupsAndNoneNamed) {
  std::vector<Candidate> candidates = {cpu_record(1, "a", "x86-64-v2"), cpu_record(2, "b", "x86-64-v2")};
  candidates[1].key.group = "vision";

  const auto selection = select(candidates, cpu_device("x86-64-v3"));

  ASSERT_FALSE(selection.ok());
  EXPECT_EQ(selection.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(selection.error().message,
            "no group was named and the container has 2: \"text\", \"vision\"; name one of them");
}

TEST(SelectErrors, ANamedRecordThatIsNotThereOrIsNoContextBinary) {
  std::vector<Candidate> candidates = {cpu_record(1, "v2", "x86-64-v2"), cpu_record(2, "v3", "x86-64-v3")};
  candidates.push_back({.record_id = 3, .name = "weights", .key = {.type = RecordType::kWeightBlob, .group = "text"}});

  const auto absent = select(candidates, cpu_device("x86-64-v3"), {.record_override = "v9"});
  const auto other_type = select(candidates, cpu_device("x86-64-v3"), {.record_override = "weights"});

  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(absent.error().message, "record \"v9\" does not exist; the context binaries are \"v2\", \"v3\"");
  ASSERT_FALSE(other_type.ok());
  EXPECT_EQ(other_type.error().message, "record \"weights\" is a weight_blob; the context binaries are \"v2\", \"v3\"");
}

TEST(SelectErrors, ANamedRecordOfAnotherGroupThanTheNamedOne) {
  std::vector<Candidate> candidates = {cpu_record(1, "a", "x86-64-v2"), cpu_record(2, "b", "x86-64-v2")};
  candidates[1].key.group = "vision";

  const auto clash = select(candidates, cpu_device("x86-64-v3"), {.group = "text", .record_override = "b"});
  const auto found = select(candidates, cpu_device("x86-64-v3"), {.record_override = "b"});

  ASSERT_FALSE(clash.ok());
  EXPECT_EQ(clash.error().message, "record \"b\" belongs to group \"vision\", but group \"text\" was requested");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().group, "vision");
  EXPECT_EQ(found.value().chosen, std::vector<std::uint32_t>{2});
}

// Returns the pool for every subset of up to five records, in every order, on every one of these devices.
std::vector<Candidate> permutation_pool() {
  std::vector<Candidate> pool = {
      cpu_record(1, "v2", "x86-64-v2"),
      cpu_record(2, "v3", "x86-64-v3"),
      cpu_record(3, "v4", "x86-64-v4"),
      cpu_record(4, "v3+vnni", "x86-64-v3", "avx-vnni"),
      cpu_record(5, "v4+vnni", "x86-64-v4", "avx512-vnni"),
      cpu_record(6, "arm", "aarch64"),
      generic_record(7, "generic"),
      cpu_record(8, "v3 twin", "x86-64-v3"),
      cpu_record(9, "v2 decode", "x86-64-v2"),
      cpu_record(10, "v3 decode", "x86-64-v3"),
  };
  pool[7].key.variant = "twin";
  pool[8].key.unit = "decode";
  pool[9].key.unit = "decode";
  return pool;
}

std::map<std::uint32_t, Axis> axes_by_record(const Selection& selection) {
  std::map<std::uint32_t, Axis> axes;
  for (const Verdict& verdict : selection.verdicts) axes[verdict.record_id] = verdict.axis;
  return axes;
}

TEST(SelectProperty, NoOrderOfUpToFiveRecordsChangesTheChoiceOrAVerdict) {
  const std::vector<Candidate> pool = permutation_pool();
  const std::vector<Device> devices = {cpu_device("x86-64-v2"), cpu_device("x86-64-v4", {"avx-vnni", "avx512-vnni"}),
                                       Device{}};
  std::set<std::vector<std::uint32_t>> outcomes;
  for (unsigned subset = 1; subset < (1u << pool.size()); ++subset) {
    std::vector<Candidate> records;
    for (std::size_t i = 0; i < pool.size(); ++i) {
      if ((subset >> i) & 1) records.push_back(pool[i]);
    }
    if (records.size() > 5) continue;
    for (const Device& device : devices) {
      const SelectPolicy policy = {.mix_targets = subset % 2 == 0};
      const Selection first = select(records, device, policy).value();
      outcomes.insert(first.chosen);
      std::vector<std::size_t> order(records.size());
      std::iota(order.begin(), order.end(), 0);
      while (std::next_permutation(order.begin(), order.end())) {
        std::vector<Candidate> permuted;
        for (const std::size_t index : order) permuted.push_back(records[index]);
        const Selection other = select(permuted, device, policy).value();
        ASSERT_EQ(other.chosen, first.chosen) << "subset " << subset;
        ASSERT_EQ(axes_by_record(other), axes_by_record(first)) << "subset " << subset;
        ASSERT_EQ(other.warnings, first.warnings) << "subset " << subset;
        ASSERT_EQ(other.vendor_code, first.vendor_code) << "subset " << subset;
      }
    }
  }
  EXPECT_GE(outcomes.size(), 10u);  // the pool leads to many answers, so that equality is significant
}

TEST(SelectNames, EveryAxisAndLevelHasItsOwn) {
  std::set<std::string_view> ids;
  for (int axis = 0; axis <= static_cast<int>(Axis::kOutranked); ++axis) ids.insert(axis_id(static_cast<Axis>(axis)));

  EXPECT_EQ(ids.size(), static_cast<std::size_t>(Axis::kOutranked) + 1);
  EXPECT_FALSE(ids.contains("unknown"));
  EXPECT_EQ(axis_id(Axis::kVersion), "A3");
  EXPECT_EQ(axis_id(Axis::kFeature), "C2");
  EXPECT_EQ(axis_id(Axis::kStrictLower), "strict_lower");
  EXPECT_EQ(level_name(Level::kOptimal), "OPTIMAL");
  EXPECT_EQ(level_name(Level::kPreferRecompilation), "PREFER_RECOMPILATION");
  EXPECT_EQ(level_name(Level::kFallback), "FALLBACK");
  EXPECT_EQ(level_name(Level::kUnsupported), "UNSUPPORTED");
}

}  // namespace select_test
}  // namespace fatctx
