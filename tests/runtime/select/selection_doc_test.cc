// docs/selection.md agrees with the code: its example, its axes, its warnings and its device description.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/select.h"
#include "fatctx/soc_table.h"
#include "source_dir.h"

namespace fatctx {
namespace selection_doc_test {

using ::testing::HasSubstr;

std::string read_document() {
  std::ifstream stream(FATCTX_SOURCE_DIR "/docs/selection.md");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(SelectionDocument, ItsFirstExampleIsWhatExplainPrints) {
  constexpr RecordType kBinary = RecordType::kContextBinary;
  std::vector<Candidate> candidates;
  const std::vector<std::pair<std::string_view, std::string_view>> records = {
      {"minilm-arm", "aarch64"}, {"minilm-v2", "x86-64-v2"}, {"minilm-v3", "x86-64-v3"}, {"minilm-v4", "x86-64-v4"}};
  for (const auto& [name, arch] : records) {
    const auto id = static_cast<std::uint32_t>(candidates.size() + 1);
    candidates.push_back(
        {.record_id = id, .name = name, .key = {.type = kBinary, .group = "minilm", .backend = "cpu", .arch = arch}});
  }
  const Device device = device_from_text("x86-64-v3").value();

  const std::string text = explain_text(select(candidates, device).value(), candidates, device);

  EXPECT_THAT(read_document(), HasSubstr("```\n" + text + "```\n"));
}

TEST(SelectionDocument, HasARowForEveryAxis) {
  const std::string document = read_document();
  for (int axis = 1; axis <= static_cast<int>(Axis::kOutranked); ++axis) {
    const auto id = axis_id(static_cast<Axis>(axis));
    EXPECT_THAT(document, HasSubstr(fmt::format("\n| {} | ", id)));
  }
}

TEST(SelectionDocument, HasARowForEveryWarningAndLevel) {
  const std::string document = read_document();
  for (const char* row : {"generic_record", "vtcm_unverified", "override_forced", "mixed_targets", "damaged_choice",
                          "source_model", "OPTIMAL", "PREFER_RECOMPILATION", "FALLBACK", "UNSUPPORTED"}) {
    EXPECT_THAT(document, HasSubstr(fmt::format("\n| {} | ", row)));
  }
}

// Returns the lines of section 14 as patterns, one for each row.
std::vector<std::string> documented_lines() {
  const std::string document = read_document();
  std::istringstream section(document.substr(document.find("## 14. The lines, word by word")));
  std::vector<std::string> lines;
  for (std::string row; std::getline(section, row);) {
    const std::size_t end = row.find("` |");
    if (row.starts_with("| `") && end != std::string::npos) lines.push_back(row.substr(3, end - 3));
  }
  return lines;
}

std::regex pattern_of(const std::string& line) {
  std::string pattern;
  for (std::size_t at = 0; at < line.size();) {
    if (line.compare(at, 3, "\u2026") == 0) {
      pattern += ".+";
      at += 3;
      continue;
    }
    if (std::string_view("[]().;:").find(line[at]) != std::string_view::npos) pattern += '\\';
    pattern += line[at++];
  }
  return std::regex(pattern);
}

// Returns the texts after the names of records, both chosen and rejected ones.
std::vector<std::string> reasons_of(const std::string& answer) {
  std::vector<std::string> reasons;
  std::istringstream lines(answer);
  std::smatch found;
  static const std::regex kChosen("chosen: .*: T[0-7] [A-Z_]+, (.*)");
  static const std::regex kOther("  [a-z0-9]+: (.*)");
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, found, kChosen) || std::regex_match(line, found, kOther)) reasons.push_back(found[1]);
  }
  return reasons;
}

TEST(SelectionDocument, HasARowForEveryLineOfAnAnswerAndNoOthers) {
  constexpr RecordType kBinary = RecordType::kContextBinary;
  const auto cpu = [](std::string_view name, std::string_view arch, std::string_view features = "") {
    return Candidate{.name = name,
                     .key = {.type = kBinary, .group = "g", .backend = "cpu", .arch = arch, .features = features}};
  };
  const auto htp = [](std::string_view name, std::string_view arch, std::string_view part = "",
                      std::uint32_t vtcm = 0) {
    return Candidate{
        .name = name,
        .key = {.type = kBinary, .group = "g", .backend = "htp", .part = part, .arch = arch, .vtcm_mb = vtcm}};
  };
  const Candidate source = {.name = "source", .key = {.type = RecordType::kSourceModel, .group = "g"}};
  Candidate damaged = htp("damaged", "v75");
  damaged.state = RecordState::kBad;
  Candidate unbound = htp("unbound", "v75");
  unbound.weights_ok = false;
  Candidate sdk = htp("sdk", "v75");
  sdk.key.sdk = {2, 51, 0, 0};
  Candidate api = htp("api", "v75");
  api.key.api = {2, 40, 0, 0};
  Candidate blob = htp("blob", "v75");
  blob.key.blob = {4, 0, 0, 0};
  Candidate numbered = htp("numbered", "");
  numbered.key.qnn_soc = 57;
  Candidate generic = htp("generic", "");
  generic.key.generic = true;
  Candidate other_group = htp("other", "v75");
  other_group.key.group = "h";
  Candidate prefill = cpu("prefill", "x86-64-v2");
  prefill.key.unit = "prefill";
  Candidate decode = cpu("decode", "x86-64-v2");
  decode.key.unit = "decode";
  Candidate alone = cpu("alone", "x86-64-v3");
  alone.key.unit = "prefill";

  Device phone = device_from_text("SM8650").value();
  phone.sdk = Version{2, 48, 0, 0};
  phone.api = Version{2, 38, 0, 0};
  phone.blob = Version{3, 3, 0, 0};
  Device nameless;
  nameless.backend = "htp";
  const Device v75 = device_from_text("v75").value();
  const Device v3 = device_from_text("x86-64-v3").value();
  const Device arm = device_from_text("aarch64+dotprod").value();
  SelectPolicy quirk;
  quirk.soc_table = SocTable::parse(
                        "#fatctx.soc_table/1\n#version,test.1\n#extends,built-in\n#source,LAB,the desk\n"
                        "#quirk,SM8550,SM8650,LAB,every result is zero\n"
                        "vendor,part,qnn_soc,kernel_ids,kernel_lookup,arch,vtcm_mb,runtime,sources\n",
                        "test.csv")
                        .value();
  const SelectPolicy strict = {.strict = true};
  const SelectPolicy strict_lower = {.strict = true, .allow_lower_arch = true};

  struct Question {
    std::vector<Candidate> candidates;
    Device device;
    SelectPolicy policy = {};
  };
  const std::vector<Question> questions = {
      {{cpu("c", "aarch64"), damaged, unbound, sdk, api, blob, htp("newer", "v79"), htp("older", "v69"),
        htp("large", "v75", "", 16), htp("lower", "v73"), source},
       phone},
      {{htp("part", "v75", "SM8650", 8), htp("less", "v75", "SM8650", 4), htp("arch", "v75"), generic}, phone},
      {{sdk}, v75, {.max_sdk = Version{2, 50, 0, 0}}},
      {{htp("elsewhere", "v73", "SM8550")}, phone, quirk},
      {{htp("unknown", "v75")}, nameless},
      {{generic}, phone, {.allow_generic = false}},
      {{generic}, phone},
      {{numbered}, phone},
      {{htp("arch", "v75", "", 8)}, v75},
      {{htp("lower", "v73")}, phone, {.allow_lower_arch = true}},
      {{htp("less", "v75", "SM8650", 4), htp("lower", "v73"), generic, source}, phone, strict_lower},
      {{htp("a", "v75"), htp("b", "v75", "SM8650")}, phone, {.record_override = "a"}},
      {{htp("a", "v75"), other_group}, phone, {.group = "g"}},
      {{source}, phone, {.prepare_hook = true}},
      {{source}, phone, {.strict = true, .prepare_hook = true}},
      {{cpu("a", "aarch64"), cpu("b", "x86-64-v4"), cpu("c", "x86-64-v3")}, v3},
      {{cpu("a", "x86-64-v2")}, v3},
      {{cpu("a", "aarch64", "i8mm"), cpu("b", "aarch64"), cpu("c", "aarch64", "dotprod")}, arm},
      {{cpu("a", "x86-64-v3")}, device_from_text("x86-64-v3+avx-vnni").value()},
      {{cpu("a", "x86-64-v2")}, v3, strict},
      {{prefill, decode, alone}, v3},
  };
  const std::vector<std::string> documented = documented_lines();
  std::set<std::string> seen;
  for (Question question : questions) {
    for (std::size_t i = 0; i < question.candidates.size(); ++i) {
      question.candidates[i].record_id = static_cast<std::uint32_t>(i + 1);
    }
    const auto selection = select(question.candidates, question.device, question.policy);
    ASSERT_TRUE(selection.ok()) << selection.error().message;
    const std::string answer = explain_text(selection.value(), question.candidates, question.device, question.policy);
    const std::vector<std::string> reasons = reasons_of(answer);
    EXPECT_EQ(reasons.size(), question.candidates.size()) << answer;
    for (const std::string& reason : reasons) {
      bool found = false;
      for (const std::string& line : documented) {
        if (!std::regex_match(reason, pattern_of(line))) continue;
        found = true;
        seen.insert(line);
      }
      EXPECT_TRUE(found) << "not documented: " << reason;
    }
  }
  for (const std::string& line : documented) EXPECT_TRUE(seen.contains(line)) << "nothing says this: " << line;
}

TEST(SelectionDocument, ItsDeviceDescriptionIsReadAndWrittenTheSame) {
  const std::string document = read_document();
  const std::string fence = "```json\n";
  const auto start = document.find(fence);
  ASSERT_NE(start, std::string::npos);
  const auto end = document.find("\n```", start);
  const std::string json = document.substr(start + fence.size(), end - start - fence.size());

  const auto device = device_from_json(json);

  ASSERT_TRUE(device.ok()) << device.error().message;
  EXPECT_EQ(device.value().part, "SM8650");
  EXPECT_EQ(device_to_json(device_from_json(device_to_json(device.value())).value()), device_to_json(device.value()));
}

}  // namespace selection_doc_test
}  // namespace fatctx
