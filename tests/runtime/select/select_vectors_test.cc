// Runs the selection vectors of select_cpu_vectors.json and select_soc_vectors.json.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "fatctx/select.h"
#include "source_dir.h"

namespace fatctx {
namespace select_vectors_test {

using Json = nlohmann::json;

Json read_vectors(const char* file) {
  std::ifstream stream(std::string(FATCTX_SOURCE_DIR "/tests/runtime/select/") + file);
  return Json::parse(stream);
}

Json with_defaults(Json defaults, const Json& values) {
  defaults.update(values);
  return defaults;
}

std::string backend_name(const Json& backend) {
  if (backend.is_string()) return backend.get<std::string>();
  return backend.get<int>() == 6 ? "htp" : fmt::format("backend{}", backend.get<int>());
}

// Archs are texts on a CPU and numbers on a SoC; 0 and a missing value are unknown.
std::string arch_text(const Json& values) {
  const Json arch = values.value("arch", Json(0));
  if (arch.is_string()) return arch.get<std::string>();
  return arch.get<int>() == 0 ? "" : fmt::format("v{}", arch.get<int>());
}

Version version_of(const Json& values, const char* key) {
  const std::string text = values.value(key, "");
  return text.empty() ? Version{} : parse_version(text).value();
}

template <typename T>
std::optional<T> known(T value) {
  return value == T{} ? std::nullopt : std::optional<T>(value);
}

Device device_of(const Json& values) {
  return {.backend = backend_name(values.at("backend")),
          .part = known(values.value("part", "")),
          .qnn_soc = known(values.value("qnn_soc", 0u)),
          .arch = known(arch_text(values)),
          .features = values.value("features", std::vector<std::string>{}),
          .vtcm_mb = known(values.value("vtcm_mb", 0u)),
          .sdk = known(version_of(values, "sdk")),
          .api = known(version_of(values, "api")),
          .blob = known(version_of(values, "blob"))};
}

SelectPolicy policy_of(const Json& values) {
  SelectPolicy policy;
  policy.group = values.value("group", "");
  policy.strict = values.at("policy") == "strict";
  policy.allow_lower_arch = values.value("allow_lower_arch", policy.allow_lower_arch);
  policy.allow_generic = values.value("allow_generic", policy.allow_generic);
  policy.mix_targets = values.value("mix_targets", policy.mix_targets);
  policy.prepare_hook = values.value("prepare_hook", policy.prepare_hook);
  if (values.contains("boundaries")) policy.boundaries = values["boundaries"].get<std::vector<std::uint32_t>>();
  policy.force = values.value("force", policy.force);
  const Json named = values.value("record_override", Json());
  if (!named.is_null()) policy.record_override = named.get<std::string>();
  return policy;
}

// Returns the device of one vector: the described one, or the one that replaces it by name.
Device device_in(const Json& document, const Json& vector) {
  Device device = device_of(with_defaults(document["defaults"]["device"], vector.at("device")));
  const Json call = vector.value("call", Json::object());
  if (!call.contains("soc_override")) return device;
  Device named = device_from_text(call["soc_override"].get<std::string>()).value();
  named.sdk = device.sdk;
  named.api = device.api;
  named.blob = device.blob;
  return named;
}

// The records of one vector, with the texts that their keys borrow.
class Records {
 public:
  Records(const Json& document, const Json& vector) {
    for (const Json& name : vector.at("records")) {
      values_.push_back(with_defaults(document["defaults"]["record"], document["records"].at(name.get<std::string>())));
      names_.push_back(name);
    }
    texts_.reserve(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) add(values_[i], names_[i]);
  }

  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  [[nodiscard]] const std::string& name(std::uint32_t record_id) const { return names_.at(record_id); }

 private:
  struct Texts {
    std::string group, unit, backend, part, arch, features, variant;
  };

  void add(const Json& v, const std::string& name) {
    const Texts& t =
        texts_.emplace_back(Texts{v.value("group", ""), v.value("unit", ""), backend_name(v.at("backend")),
                                  v.value("part", ""), arch_text(v), v.value("features", ""), v.value("variant", "")});
    Candidate candidate;
    candidate.record_id = static_cast<std::uint32_t>(candidates_.size());
    candidate.name = name;
    candidate.key = {
        .type = v.at("kind") == "context" ? RecordType::kContextBinary : RecordType::kSourceModel,
        .group = t.group,
        .unit = t.unit,
        .backend = t.backend,
        .qnn_soc = v.value("qnn_soc", 0u),
        .part = t.part,
        .arch = t.arch,
        .features = t.features,
        .vtcm_mb = v.value("vtcm_mb", 0u),
        .sdk = version_of(v, "sdk"),
        .variant = t.variant,
        .api = version_of(v, "api"),
        .blob = version_of(v, "blob"),
        .generic = v.value("generic", false),
    };
    if (!v.at("digest_ok").get<bool>()) candidate.state = RecordState::kBad;
    candidate.weights_ok = v.at("weights_ok");
    candidates_.push_back(candidate);
  }

  std::vector<Json> values_;
  std::vector<std::string> names_;
  std::vector<Texts> texts_;
  std::vector<Candidate> candidates_;
};

std::vector<std::string> expected_records(const Json& expect) {
  const Json& record = expect.at("record");
  if (record.is_null()) return {};
  if (record.is_array()) return record.get<std::vector<std::string>>();
  return {record.get<std::string>()};
}

bool is_rejection(Axis axis) { return axis != Axis::kNone && axis != Axis::kOutranked; }

// Returns the differences from the expectation, one line each; empty if the vector passes.
std::vector<std::string> differences(const Json& document, const Json& vector) {
  const Records records(document, vector);
  const Device device = device_in(document, vector);
  const SelectPolicy policy =
      policy_of(with_defaults(document["defaults"]["call"], vector.value("call", Json::object())));
  const Json& expect = vector.at("expect");
  std::vector<std::string> found;
  const auto compare = [&found](const char* what, const auto& actual, const auto& expected) {
    if (actual != expected)
      found.push_back(fmt::format("{}: {}, expected {}", what, Json(actual).dump(), Json(expected).dump()));
  };

  const auto result = select(records.candidates(), device, policy);
  if (!result.ok()) return {to_text(result.error())};
  const Selection& selection = result.value();

  std::vector<std::string> chosen;
  for (const auto id : selection.chosen) chosen.push_back(records.name(id));
  std::map<std::string, std::string> rejected;
  std::vector<std::string> marked_chosen;
  for (const Verdict& verdict : selection.verdicts) {
    if (is_rejection(verdict.axis)) rejected[records.name(verdict.record_id)] = axis_id(verdict.axis);
    if (verdict.chosen) marked_chosen.push_back(records.name(verdict.record_id));
  }
  compare("chosen", chosen, expected_records(expect));
  std::sort(chosen.begin(), chosen.end());
  std::sort(marked_chosen.begin(), marked_chosen.end());
  compare("marked chosen", marked_chosen, chosen);
  compare("rejected", rejected, expect.at("rejected").get<std::map<std::string, std::string>>());
  compare("tier", selection.tier, expect.value("tier", -1));
  compare("level", std::string(level_name(selection.level)), expect.value("level", "UNSUPPORTED"));
  compare("code", selection.vendor_code, expect.value("code", 0));
  const auto warning = expect.value("warning", "");
  if (!warning.empty()) {
    compare("warnings", selection.warnings, std::vector<std::string>{warning});
  }
  return found;
}

std::string lines(const std::vector<std::string>& differences) {
  std::string text;
  for (const auto& line : differences) text += "\n  " + line;
  return text;
}

TEST(SelectionVectors, EveryCpuVectorHolds) {
  const Json document = read_vectors("select_cpu_vectors.json");

  EXPECT_GE(document["selection"].size(), 45u);
  for (const Json& vector : document["selection"]) {
    const auto found = differences(document, vector);
    EXPECT_TRUE(found.empty()) << vector["id"] << ": " << vector["shows"] << lines(found);
  }
}

// Shows S1.17: VTCM as a typed field that axis A6 compares.
TEST(SelectionVectors, EverySocVectorHolds) {
  const Json document = read_vectors("select_soc_vectors.json");

  EXPECT_EQ(document["selection"].size(), 40u);
  for (const Json& vector : document["selection"]) {
    const auto found = differences(document, vector);
    EXPECT_TRUE(found.empty()) << vector["id"] << ": " << vector["shows"] << lines(found);
  }
}

TEST(SelectionVectors, TheOrderOfTheRecordsChangesNothing) {
  for (const char* file : {"select_cpu_vectors.json", "select_soc_vectors.json"}) {
    const Json document = read_vectors(file);
    for (const Json& vector : document["selection"]) {
      const Records records(document, vector);
      const Device device = device_in(document, vector);
      const SelectPolicy policy =
          policy_of(with_defaults(document["defaults"]["call"], vector.value("call", Json::object())));
      const auto reference = select(records.candidates(), device, policy);
      ASSERT_TRUE(reference.ok()) << vector["id"];

      std::vector<Candidate> backwards(records.candidates().rbegin(), records.candidates().rend());
      const auto other = select(backwards, device, policy);

      ASSERT_TRUE(other.ok()) << vector["id"];
      EXPECT_EQ(other.value().chosen, reference.value().chosen) << vector["id"];
    }
  }
}

}  // namespace select_vectors_test
}  // namespace fatctx
