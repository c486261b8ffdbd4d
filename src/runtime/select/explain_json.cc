// Renders explanations as JSON, schema "fatctx.selection/1".
#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "fatctx/select.h"
#include "runtime/device/device_json.h"
#include "runtime/select/explain.h"
#include "runtime/select/explain_story.h"
#include "runtime/select/select_rules.h"

namespace fatctx {
namespace {

Json number_or_null(std::uint32_t number) { return number == 0 ? Json(nullptr) : Json(number); }
Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }
Json version_or_null(const Version& version) { return version.known() ? Json(to_text(version)) : Json(nullptr); }

Json key_json(const SelectionKey& key) {
  return {{"group", key.group},
          {"unit", key.unit},
          {"backend", key.backend},
          {"qnn_soc", number_or_null(key.qnn_soc)},
          {"part", text_or_null(key.part)},
          {"arch", text_or_null(key.arch)},
          {"features", runtime::feature_words(key.features)},
          {"vtcm_mb", number_or_null(key.vtcm_mb)},
          {"sdk", version_or_null(key.sdk)},
          {"variant", text_or_null(key.variant)},
          {"api", version_or_null(key.api)},
          {"blob", version_or_null(key.blob)},
          {"generic", runtime::is_generic(key)}};
}

Json tier_json(int tier) { return tier < 0 ? Json(nullptr) : Json(tier); }

Json candidate_json(const runtime::ExplainedRecord& row) {
  const Verdict& verdict = *row.verdict;
  return {{"record", row.candidate->name},
          {"record_id", verdict.record_id},
          {"key", key_json(row.candidate->key)},
          {"target", target_text(row.candidate->key)},
          {"tier", tier_json(verdict.tier)},
          {"level", level_name(verdict.level)},
          {"chosen", verdict.chosen},
          {"axis", verdict.axis == Axis::kNone ? Json(nullptr) : Json(axis_id(verdict.axis))},
          {"reason", row.reason}};
}

Json code_json(const Selection& selection, const runtime::ExplainedSelection& story) {
  if (!story.chosen.empty()) return nullptr;
  return {{"name", runtime::vendor_code_name(selection.vendor_code)},
          {"decimal", selection.vendor_code},
          {"hex", fmt::format("{:#x}", selection.vendor_code)}};
}

Json damaged_json(const DamagedRecord& damaged) {
  const ErrorContext& where = damaged.error.where;
  return {{"record", damaged.name},
          {"record_id", damaged.record_id},
          {"error", error_code_name(damaged.error.code)},
          {"rule", text_or_null(where.rule)},
          {"file_offset", where.file_offset ? Json(*where.file_offset) : Json(nullptr)},
          {"message", damaged.error.message}};
}

Json decision_json(const Selection& selection, const runtime::ExplainedSelection& story, const SelectPolicy& policy) {
  Json chosen = Json::array();
  for (const runtime::ExplainedRecord* row : story.chosen) {
    chosen.push_back(
        {{"record", row->candidate->name}, {"record_id", row->verdict->record_id}, {"unit", row->candidate->key.unit}});
  }
  Json damaged = Json::array();
  for (const DamagedRecord& record : selection.damaged) damaged.push_back(damaged_json(record));
  return {{"group", selection.group},
          {"chosen", std::move(chosen)},
          {"damaged", std::move(damaged)},
          {"tier", tier_json(selection.tier)},
          {"level", level_name(selection.level)},
          {"policy", policy.strict ? "strict" : "permissive"},
          {"parameters",
           {{"allow_lower_arch", policy.allow_lower_arch},
            {"allow_generic", policy.allow_generic},
            {"mix_targets", policy.mix_targets},
            {"prepare_hook", policy.prepare_hook},
            {"boundaries", runtime::boundaries_of(policy)},
            {"max_sdk", policy.max_sdk ? Json(to_text(*policy.max_sdk)) : Json(nullptr)},
            {"record_override", policy.record_override},
            {"force", policy.force}}},
          {"warnings", selection.warnings},
          {"code", code_json(selection, story)}};
}

}  // namespace

Json explain_document(const Selection& selection, std::span<const Candidate> candidates, const Device& device,
                      const SelectPolicy& policy) {
  const runtime::ExplainedSelection story = runtime::explain_story(selection, candidates, device, policy);
  Json rows = Json::array();
  for (const runtime::ExplainedRecord& row : story.rows) rows.push_back(candidate_json(row));
  return {{"schema", "fatctx.selection/1"},
          {"device", runtime::device_fields(device)},
          {"candidates", std::move(rows)},
          {"decision", decision_json(selection, story, policy)}};
}

std::string explain_json(const Selection& selection, std::span<const Candidate> candidates, const Device& device,
                         const SelectPolicy& policy) {
  return write_json(explain_document(selection, candidates, device, policy));
}

}  // namespace fatctx
