#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fatctx/select.h"

namespace fatctx {
namespace explain_test {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr RecordType kBinary = RecordType::kContextBinary;

std::vector<Candidate> minilm() {
  return {
      {.record_id = 1,
       .name = "minilm-arm",
       .key = {.type = kBinary, .group = "minilm", .backend = "cpu", .arch = "aarch64"}},
      {.record_id = 2,
       .name = "minilm-v2",
       .key = {.type = kBinary, .group = "minilm", .backend = "cpu", .arch = "x86-64-v2"}},
      {.record_id = 3,
       .name = "minilm-v3",
       .key = {.type = kBinary, .group = "minilm", .backend = "cpu", .arch = "x86-64-v3"}},
      {.record_id = 4,
       .name = "minilm-v4",
       .key = {.type = kBinary, .group = "minilm", .backend = "cpu", .arch = "x86-64-v4"}},
  };
}

std::string text_for(const std::vector<Candidate>& candidates, const Device& device, const SelectPolicy& policy = {}) {
  return explain_text(select(candidates, device, policy).value(), candidates, device, policy);
}

// docs/selection.md has the same four records and device.
TEST(ExplainText, TellsTheChoiceAndOneLineForEveryOtherRecord) {
  EXPECT_EQ(text_for(minilm(), {.arch = "x86-64-v3"}),
            "device: cpu x86-64-v3\n"
            "group:  minilm\n"
            "chosen: minilm-v3 (cpu x86-64-v3): T3 OPTIMAL, level and features of the record and the device are "
            "x86-64-v3\n"
            "others:\n"
            "  minilm-arm: built for aarch64, device is x86-64-v3 [C1]\n"
            "  minilm-v2: fits as T5 PREFER_RECOMPILATION, but minilm-v3 fits as T3 [outranked]\n"
            "  minilm-v4: needs x86-64-v4, device has x86-64-v3 [C2]\n");
}

TEST(ExplainText, TellsWhenNothingMatches) {
  EXPECT_EQ(text_for(minilm(), {.arch = "x86-64-v1"}),
            "device: cpu x86-64-v1\n"
            "group:  minilm\n"
            "chosen: none, no record matches this device\n"
            "records:\n"
            "  minilm-arm: built for aarch64, device is x86-64-v1 [C1]\n"
            "  minilm-v2: needs x86-64-v2, device has x86-64-v1 [C2]\n"
            "  minilm-v3: needs x86-64-v3, device has x86-64-v1 [C2]\n"
            "  minilm-v4: needs x86-64-v4, device has x86-64-v1 [C2]\n");
}

TEST(ExplainText, NamesTheUnitThatATargetLacks) {
  auto candidates = minilm();
  candidates[2].key.unit = "prefill";
  candidates[1].key.unit = "prefill";
  candidates.push_back(candidates[1]);
  candidates.back().key.unit = "decode";
  candidates.back().record_id = 9;
  candidates.back().name = "minilm-v2-decode";
  candidates.erase(candidates.begin() + 3);  // minilm-v4: every target would lack its unit
  candidates.erase(candidates.begin());

  const std::string text = text_for(candidates, {.arch = "x86-64-v3"});

  EXPECT_THAT(text, HasSubstr("chosen: minilm-v2-decode (cpu x86-64-v2) for unit decode: T5"));
  EXPECT_THAT(text, HasSubstr("chosen: minilm-v2 (cpu x86-64-v2) for unit prefill: T5"));
  EXPECT_THAT(text,
              HasSubstr("minilm-v3: fits, but cpu x86-64-v3 has no usable record for unit \"decode\" [incomplete]"));
}

TEST(ExplainText, SaysWhatDecidedBetweenTwoRecordsOfOneTier) {
  std::vector<Candidate> lower = minilm();
  std::erase_if(lower, [](const Candidate& candidate) { return candidate.key.arch == "x86-64-v4"; });

  EXPECT_THAT(text_for(lower, {.arch = "x86-64-v4"}),
              HasSubstr("minilm-v2: fits as T5 PREFER_RECOMPILATION, but minilm-v3 comes first: x86-64-v3 is above "
                        "x86-64-v2 [outranked]"));
}

TEST(ExplainText, SaysWhatTheDeviceHasBeyondTheRecordsLevel) {
  EXPECT_THAT(text_for(minilm(), {.arch = "x86-64-v4", .features = {"amx"}}),
              HasSubstr("T3 OPTIMAL, built for the device's own level: x86-64-v4; device has x86-64-v4+amx"));
}

TEST(ExplainText, ShowsWarningsWithTheirMeaning) {
  const std::vector<Candidate> generic = {
      {.record_id = 1, .name = "any", .key = {.type = kBinary, .backend = "cpu", .generic = true}}};

  EXPECT_THAT(text_for(generic, {}), HasSubstr("warning: no record was built for this device; the generic one is used "
                                               "[generic_record]\n"));
}

TEST(ExplainText, ShowsTheVendorCodeForAnAccelerator) {
  EXPECT_THAT(text_for(minilm(), {.backend = "htp", .arch = "v75"}),
              HasSubstr("chosen: none, no record matches this device (INCOMPATIBLE_BINARIES 1008)\n"));
}

// A row for one axis: the sentence has both values, and names the axis at its end.
struct Sentence {
  const char* what;
  SelectionKey key;
  Device device;
  SelectPolicy policy;
  const char* text;
};

const Device kPhone = {
    .backend = "htp", .part = "SM8650", .qnn_soc = 57, .arch = "v75", .vtcm_mb = 8, .sdk = Version{2, 50, 0, 0}};

std::vector<Sentence> sentences() {
  const Device v3 = {.arch = "x86-64-v3"};
  Device small_phone = kPhone;
  small_phone.vtcm_mb = 4;
  Device blind_phone = kPhone;
  blind_phone.vtcm_mb = {};
  return {
      {"backend", {.backend = "gpu"}, kPhone, {}, "built for backend gpu, device has backend htp [A1]"},
      {"sdk", {.backend = "htp", .sdk = {2, 51, 0, 0}}, kPhone, {}, "needs sdk 2.51, device has 2.50 [A3]"},
      {"newer arch",
       {.backend = "htp", .qnn_soc = 69, .part = "SM8750", .arch = "v79"},
       kPhone,
       {},
       "built for v79 (SM8750, soc 69), device is v75 (SM8650, soc 57) [A4]"},
      {"boundary",
       {.backend = "htp", .part = "SM8450", .arch = "v69"},
       kPhone,
       {},
       "built for v69 (SM8450), device is v75 (SM8650, soc 57): another generation [A5]"},
      {"vtcm",
       {.backend = "htp", .arch = "v75", .vtcm_mb = 8},
       small_phone,
       {},
       "needs 8 MB of VTCM, device has 4 MB of VTCM [A6]"},
      {"instruction set", {.backend = "cpu", .arch = "aarch64"}, v3, {}, "built for aarch64, device is x86-64-v3 [C1]"},
      {"level", {.backend = "cpu", .arch = "x86-64-v4"}, v3, {}, "needs x86-64-v4, device has x86-64-v3 [C2]"},
      {"feature",
       {.backend = "cpu", .arch = "aarch64", .features = "dotprod,i8mm"},
       {.arch = "aarch64", .features = {"dotprod", "sve"}},
       {},
       "needs aarch64+dotprod+i8mm, device has aarch64+dotprod+sve: i8mm missing [C2]"},
      {"lower arch",
       {.backend = "htp", .part = "SM8550", .arch = "v73"},
       kPhone,
       {},
       "built for v73 (SM8550), device is v75 (SM8650, soc 57): a lower arch is taken only if allowed [no_tier]"},
      {"unknown device",
       {.backend = "cpu", .arch = "x86-64-v2"},
       {},
       {},
       "built for x86-64-v2, device is an unknown instruction set: nothing says that they fit [no_tier]"},
      {"generic switched off",
       {.backend = "cpu", .generic = true},
       v3,
       {.allow_generic = false},
       "a generic record, and the policy does not allow generic records [no_tier]"},
      {"strict",
       {.backend = "htp", .part = "SM8650", .vtcm_mb = 4},
       kPhone,
       {.strict = true},
       "would run, but strict asks for full use: built for 4 MB of VTCM, device has 8 MB of VTCM [strict]"},
      {"strict and lower",
       {.backend = "cpu", .arch = "x86-64-v2"},
       v3,
       {.strict = true},
       "would run, but strict asks for full use: built for x86-64-v2, device is x86-64-v3 [strict_lower]"},
      {"same part",
       {.backend = "htp", .part = "SM8650", .vtcm_mb = 4},
       kPhone,
       {},
       "built for this part, SM8650, with 4 MB of VTCM; device has 8 MB of VTCM"},
      {"same number",
       {.backend = "htp", .qnn_soc = 57, .part = "SM8650X"},
       kPhone,
       {},
       "built for this vendor number, 57, with no stated VTCM; device has 8 MB of VTCM"},
      {"same arch",
       {.backend = "htp", .arch = "v75", .vtcm_mb = 8},
       blind_phone,
       {},
       "same arch, v75, with 8 MB of VTCM; device has unknown VTCM"},
      {"lower arch allowed",
       {.backend = "htp", .part = "SM8550", .arch = "v73"},
       kPhone,
       {.allow_lower_arch = true},
       "built for v73 (SM8550), device is v75 (SM8650, soc 57): a lower arch of the same generation"},
      {"lower level",
       {.backend = "cpu", .arch = "x86-64-v2"},
       v3,
       {},
       "runs here, but uses x86-64-v2 where the device has x86-64-v3"},
      {"generic", {.backend = "cpu", .generic = true}, v3, {}, "generic: fits every device of backend cpu"},
      {"named",
       {.backend = "cpu", .arch = "x86-64-v2"},
       v3,
       {.record_override = "r"},
       "named by the caller: built for x86-64-v2, device is x86-64-v3"},
      {"named and forced",
       {.backend = "cpu", .arch = "aarch64"},
       v3,
       {.record_override = "r", .force = true},
       "named by the caller: built for aarch64, device is x86-64-v3; the axes refuse it and were skipped"},
  };
}

TEST(ExplainVerdict, ShowsBothValuesAndTheAxis) {
  for (const Sentence& row : sentences()) {
    Candidate candidate = {.record_id = 1, .name = "r", .key = row.key};
    candidate.key.type = kBinary;
    const Selection selection = select({&candidate, 1}, row.device, row.policy).value();

    EXPECT_EQ(explain_verdict(selection.verdicts.at(0), candidate, row.device), row.text) << row.what;
  }
}

TEST(ExplainVerdict, TellsDamageMissingWeightsAndOtherGroups) {
  std::vector<Candidate> candidates = minilm();
  candidates[0].state = RecordState::kBad;
  candidates[1].weights_ok = false;
  candidates[2].key.group = "vision";
  const Device device = {.arch = "x86-64-v3"};

  const Selection selection = select(candidates, device, {.group = "minilm"}).value();

  EXPECT_EQ(explain_verdict(selection.verdicts[0], candidates[0], device),
            "its bytes are damaged, not present or cannot be read [A2]");
  EXPECT_EQ(explain_verdict(selection.verdicts[1], candidates[1], device),
            "a weight blob it refers to is missing, damaged or has other contents [A7]");
  EXPECT_EQ(explain_verdict(selection.verdicts[2], candidates[2], device), "belongs to group \"vision\" [group]");
}

TEST(ExplainJson, HasDeviceCandidatesAndDecision) {
  const auto candidates = minilm();
  const Device device = {.arch = "x86-64-v3", .features = {"avx-vnni"}};
  const SelectPolicy policy = {.record_override = "minilm-v2"};

  const Json json = Json::parse(explain_json(select(candidates, device, policy).value(), candidates, device, policy));

  EXPECT_EQ(json["schema"], "fatctx.selection/1");
  EXPECT_EQ(json["device"], Json::parse(R"({"backend": "cpu", "arch": "x86-64-v3", "features": ["avx-vnni"]})"));
  ASSERT_EQ(json["candidates"].size(), 4u);
  const Json& refused = json["candidates"][3];
  EXPECT_EQ(refused["record"], "minilm-v4");
  EXPECT_EQ(refused["record_id"], 4);
  EXPECT_EQ(refused["key"]["arch"], "x86-64-v4");
  EXPECT_EQ(refused["key"]["vtcm_mb"], nullptr);
  EXPECT_EQ(refused["tier"], nullptr);
  EXPECT_EQ(refused["level"], "UNSUPPORTED");
  EXPECT_EQ(refused["chosen"], false);
  EXPECT_EQ(refused["axis"], "override");
  EXPECT_EQ(refused["reason"], "the caller named another record [override]");
  const Json& chosen = json["candidates"][1];
  EXPECT_EQ(chosen["chosen"], true);
  EXPECT_EQ(chosen["axis"], nullptr);
  EXPECT_EQ(chosen["tier"], 0);
  const Json& decision = json["decision"];
  EXPECT_EQ(decision["group"], "minilm");
  EXPECT_EQ(decision["chosen"], Json::parse(R"([{"record": "minilm-v2", "record_id": 2, "unit": ""}])"));
  EXPECT_EQ(decision["tier"], 0);
  EXPECT_EQ(decision["level"], "PREFER_RECOMPILATION");
  EXPECT_EQ(decision["policy"], "permissive");
  EXPECT_EQ(decision["parameters"]["record_override"], "minilm-v2");
  EXPECT_EQ(decision["parameters"]["allow_generic"], true);
  EXPECT_EQ(decision["parameters"]["boundaries"], Json::parse("[73]"));
  EXPECT_EQ(decision["code"], nullptr);
}

TEST(ExplainJson, GivesTheVendorCodeInThreeFormsWhenNothingMatches) {
  const auto candidates = minilm();
  const Device device = {.arch = "x86-64-v1"};

  const Json json = Json::parse(explain_json(select(candidates, device).value(), candidates, device));

  EXPECT_EQ(json["decision"]["code"],
            Json::parse(R"({"name": "BINARY_CONFIGURATION", "decimal": 5008, "hex": "0x1390"})"));
  EXPECT_EQ(json["decision"]["chosen"], Json::array());
  EXPECT_EQ(json["decision"]["tier"], nullptr);
}

TEST(ExplainJson, TellsTheSameReasonsAsTheText) {
  const auto candidates = minilm();
  const Device device = {.arch = "x86-64-v3"};
  const Selection selection = select(candidates, device).value();
  const std::string text = explain_text(selection, candidates, device);

  const Json rows = Json::parse(explain_json(selection, candidates, device))["candidates"];

  ASSERT_EQ(rows.size(), 4u);
  for (const Json& row : rows) EXPECT_THAT(text, HasSubstr(row["reason"].get<std::string>()));
}

}  // namespace explain_test
}  // namespace fatctx
