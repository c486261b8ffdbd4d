// Explains why a record was chosen and why the others were not.
//
// Every sentence shows both compared values, the record's and the device's. It ends with the axis in brackets, so that
// readers can look it up in docs/selection.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "fatctx/select.h"
#include "runtime/device/arch.h"
#include "runtime/device/device_text.h"
#include "runtime/select/explain_story.h"
#include "runtime/select/select_rules.h"

namespace fatctx {
namespace {

using Row = runtime::ExplainedRecord;
using Story = runtime::ExplainedSelection;

std::string cpu_text(std::string_view arch, std::string words) {
  std::replace(words.begin(), words.end(), ',', '+');
  std::string text(arch.empty() ? "cpu" : arch);
  return words.empty() ? text : text + "+" + words;
}

std::string cpu_text(const SelectionKey& key) { return cpu_text(key.arch, std::string(key.features)); }

std::string cpu_text(const Device& device) {
  if (!device.arch) return "an unknown instruction set";
  return cpu_text(*device.arch, fmt::format("{}", fmt::join(device.features, ",")));
}

// Returns for example "v79 (SM8750, soc 69)": an arch and the other names of the chip.
std::string chip_text(std::string_view arch, std::string_view part, std::uint32_t number) {
  std::vector<std::string> names;
  if (!part.empty()) names.emplace_back(part);
  if (number != 0) names.push_back(fmt::format("soc {}", number));
  const std::string name_text = fmt::format("{}", fmt::join(names, ", "));
  if (arch.empty()) return name_text.empty() ? "no stated chip" : name_text;
  return name_text.empty() ? std::string(arch) : fmt::format("{} ({})", arch, name_text);
}

std::string chip_text(const SelectionKey& key) { return chip_text(key.arch, key.part, key.qnn_soc); }

std::string chip_text(const Device& device) {
  const std::string text = chip_text(device.arch.value_or(""), device.part.value_or(""), device.qnn_soc.value_or(0));
  return text == "no stated chip" ? "unknown" : text;
}

bool on_cpu(const Device& device) { return device.backend == runtime::kCpuBackend; }

std::string built_for(const SelectionKey& key, const Device& device) {
  if (on_cpu(device)) return fmt::format("built for {}, device is {}", cpu_text(key), cpu_text(device));
  return fmt::format("built for {}, device is {}", chip_text(key), chip_text(device));
}

std::string vtcm_text(std::uint32_t megabytes) {
  return megabytes == 0 ? "no stated VTCM" : fmt::format("{} MB of VTCM", megabytes);
}

std::string device_vtcm_text(const Device& device) {
  return device.vtcm_mb ? vtcm_text(*device.vtcm_mb) : "unknown VTCM";
}

std::string version_sentence(const SelectionKey& key, const Device& device, const SelectPolicy& policy) {
  struct Row {
    const char* name;
    const Version& record;
    const std::optional<Version>& device;
  };
  for (const Row& row :
       {Row{"blob version", key.blob, device.blob}, Row{"api", key.api, device.api}, Row{"sdk", key.sdk, device.sdk}}) {
    if (runtime::version_newer(row.record, row.device)) {
      return fmt::format("needs {} {}, device has {}", row.name, to_text(row.record), to_text(*row.device));
    }
  }
  if (runtime::version_newer(key.sdk, policy.max_sdk)) {
    return fmt::format("made with sdk {}, at most {} is allowed", to_text(key.sdk), to_text(*policy.max_sdk));
  }
  return "needs a newer runtime than the device has";
}

std::string feature_sentence(const SelectionKey& key, const Device& device) {
  const std::string needs = fmt::format("needs {}, device has {}", cpu_text(key), cpu_text(device));
  const auto missing = runtime::missing_words(key.features, device.features);
  return missing.empty() ? needs : fmt::format("{}: {} missing", needs, fmt::join(missing, ", "));
}

std::string no_tier_sentence(const SelectionKey& key, const Device& device) {
  if (runtime::is_generic(key)) return "a generic record, and the policy does not allow generic records";
  if (runtime::arch_lower(key, device)) return built_for(key, device) + ": a lower arch is taken only if allowed";
  return built_for(key, device) + ": nothing says that they fit";
}

std::string strict_sentence(const SelectionKey& key, const Device& device) {
  return fmt::format("would run, but strict asks for full use: built for {}, device has {}", vtcm_text(key.vtcm_mb),
                     device_vtcm_text(device));
}

std::string named_sentence(const Verdict& verdict, const SelectionKey& key, const Device& device) {
  if (runtime::is_generic(key)) return "named by the caller: a generic record";
  const bool refused = verdict.level == Level::kFallback;
  return fmt::format("named by the caller: {}{}", built_for(key, device),
                     refused ? "; the axes refuse it and were skipped" : "");
}

std::string own_level_sentence(const SelectionKey& key, const Device& device) {
  std::string own = cpu_text(key);
  std::string has = cpu_text(device);
  if (own == has) return fmt::format("level and features of the record and the device are {}", own);
  return fmt::format("built for the device's own level: {}; device has {}", own, has);
}

// Returns "SM8750", or "SM8750, which the record calls SM8750-AC".
std::string part_text(const SelectionKey& key, const Device& device) {
  if (!device.part || key.part == *device.part) return std::string(key.part);
  return fmt::format("{}, which the record calls {}", *device.part, key.part);
}

std::string quirk_sentence(const SelectionKey& key, const Device& device, const SelectPolicy& policy) {
  const SocTable table = runtime::table_of(policy);
  const SocQuirk* const quirk = runtime::find_quirk(table, key, device);
  if (quirk == nullptr) return built_for(key, device) + ": known not to work";  // select() used another table
  return fmt::format("{}: a binary for {} is known not to work on {}: {} ({})", built_for(key, device), quirk->record,
                     quirk->device, quirk->reason, quirk->source);
}

// Returns why a record fits, by its tier.
std::string fit_sentence(const Verdict& verdict, const SelectionKey& key, const Device& device) {
  switch (verdict.tier) {
    case 0:
      return named_sentence(verdict, key, device);
    case 1:
      return fmt::format("built for this part, {}, with {}; device has {}", part_text(key, device),
                         vtcm_text(key.vtcm_mb), device_vtcm_text(device));
    case 2:
      return fmt::format("built for this vendor number, {}, with {}; device has {}", key.qnn_soc,
                         vtcm_text(key.vtcm_mb), device_vtcm_text(device));
    case 3:
    case 4:
      if (on_cpu(device)) return own_level_sentence(key, device);
      return fmt::format("same arch, {}, with {}; device has {}", key.arch, vtcm_text(key.vtcm_mb),
                         device_vtcm_text(device));
    case 5:
      if (on_cpu(device)) {
        return fmt::format("runs here, but uses {} where the device has {}", cpu_text(key), cpu_text(device));
      }
      return built_for(key, device) + ": a lower arch of the same generation";
    case runtime::kSourceTier:
      return "a source model, to be compiled on the device";
    default:
      return fmt::format("generic: fits every device of backend {}", key.backend);
  }
}

std::string sentence_without_axis(const Verdict& verdict, const SelectionKey& key, const Device& device,
                                  const SelectPolicy& policy) {
  switch (verdict.axis) {
    case Axis::kNone:
      return fit_sentence(verdict, key, device);
    case Axis::kBackend:
      return fmt::format("built for backend {}, device has backend {}", key.backend.empty() ? "(none)" : key.backend,
                         device.backend);
    case Axis::kDamaged:
      return "its bytes are damaged, not present or cannot be read";
    case Axis::kVersion:
      return version_sentence(key, device, policy);
    case Axis::kArchNewer:
      return built_for(key, device);
    case Axis::kBoundary:
      return built_for(key, device) + ": another generation";
    case Axis::kVtcm:
      return fmt::format("needs {}, device has {}", vtcm_text(key.vtcm_mb), device_vtcm_text(device));
    case Axis::kQuirk:
      return quirk_sentence(key, device, policy);
    case Axis::kWeights:
      return "a weight blob it refers to is missing, damaged or has other contents";
    case Axis::kIsa:
      return built_for(key, device);
    case Axis::kFeature:
      return feature_sentence(key, device);
    case Axis::kNoTier:
      return no_tier_sentence(key, device);
    case Axis::kStrict:
      return strict_sentence(key, device);
    case Axis::kStrictLower:
      if (key.type == RecordType::kSourceModel) return "could be compiled, but strict asks for a record of this device";
      return fmt::format("would run, but strict asks for full use: {}",
                         runtime::is_generic(key) ? "a generic record" : built_for(key, device));
    case Axis::kNoHook:
      return "a source model, and nobody here compiles it";
    case Axis::kOverride:
      return "the caller named another record";
    case Axis::kGroup:
      return fmt::format("belongs to group \"{}\"", key.group);
    case Axis::kIncomplete:
      return fmt::format("fits, but {} lacks another unit of the group", target_text(key));
    case Axis::kOutranked:
      return fmt::format("fits as T{} {}, but another record fits better", verdict.tier, level_name(verdict.level));
  }
  return "no reason is known";
}

std::string with_axis(std::string sentence, Axis axis) {
  return axis == Axis::kNone ? sentence : fmt::format("{} [{}]", sentence, axis_id(axis));
}

std::string tie_text(runtime::TieRule rule, const Candidate& winner, const Candidate& loser) {
  switch (rule) {
    case runtime::TieRule::kCpuLevel:
      return fmt::format("{} is above {}", winner.key.arch, loser.key.arch);
    case runtime::TieRule::kFeatureCount:
      return fmt::format("{} uses more than {}", cpu_text(winner.key), cpu_text(loser.key));
    case runtime::TieRule::kArch:
      return fmt::format("{} is above {}", winner.key.arch, loser.key.arch);
    case runtime::TieRule::kVtcm:
      return fmt::format("{} before {}", vtcm_text(winner.key.vtcm_mb), vtcm_text(loser.key.vtcm_mb));
    case runtime::TieRule::kSdk:
      return fmt::format("sdk {} before {}", to_text(winner.key.sdk), to_text(loser.key.sdk));
    case runtime::TieRule::kKeyOrder:
      return "equal otherwise, first in key order";
    case runtime::TieRule::kRecordId:
      return "equal otherwise, first in record order";
  }
  return "equal otherwise";
}

std::string outranked_sentence(const Row& loser, const Row& winner) {
  const Verdict& verdict = *loser.verdict;
  const std::string fits =
      fmt::format("fits as T{} {}, but {}", verdict.tier, level_name(verdict.level), winner.candidate->name);
  if (verdict.tier != winner.verdict->tier) return fmt::format("{} fits as T{}", fits, winner.verdict->tier);
  const auto tie = runtime::break_tie(*winner.candidate, *loser.candidate, verdict.tier);
  return fmt::format("{} comes first: {}", fits, tie_text(tie.rule, *winner.candidate, *loser.candidate));
}

// Returns the sentence about the units of the group for which the target has no usable record.
std::string incomplete_sentence(const Row& row, const std::vector<Row>& rows) {
  std::set<std::string_view> missing;
  std::set<std::string_view> served;
  for (const Row& other : rows) {
    const SelectionKey& key = other.candidate->key;
    if (key.group != row.candidate->key.group || key.type != RecordType::kContextBinary) continue;
    missing.insert(key.unit);
    const bool serves = other.verdict->axis == Axis::kIncomplete || other.verdict->tier >= 0;
    if (serves && runtime::compare_targets(key, row.candidate->key) == 0) served.insert(key.unit);
  }
  for (const std::string_view unit : served) missing.erase(unit);
  return fmt::format("fits, but {} has no usable record for unit \"{}\"", target_text(row.candidate->key),
                     fmt::join(missing, "\", \""));
}

std::string_view warning_text(std::string_view warning) {
  if (warning == "generic_record") return "no record was built for this device; the generic one is used";
  if (warning == "source_model") return "no record was built for this device; a source model is compiled for it";
  if (warning == "vtcm_unverified") return "the device's VTCM is not known; the record may want more";
  if (warning == "override_forced") return "the axes refuse the named record; it may not load";
  if (warning == "damaged_choice")
    return "what would have been chosen is damaged or not present; the best whole target is used";
  if (warning == "mixed_targets") return "no target has every unit; units of several targets are used together";
  return "";
}

std::string headline(const Selection& selection, const Story& story, const Device& device) {
  if (story.chosen.empty()) {
    std::string line = "chosen: none, no record matches this device";
    if (!on_cpu(device))
      line += fmt::format(" ({} {})", runtime::vendor_code_name(selection.vendor_code), selection.vendor_code);
    return line + "\n";
  }
  std::string lines;
  for (const Row* row : story.chosen) {
    const std::string_view unit = row->candidate->key.unit;
    const bool source = row->candidate->key.type == RecordType::kSourceModel;  // has no target
    lines += fmt::format("chosen: {}{}{}: T{} {}, {}\n", row->candidate->name,
                         source ? "" : fmt::format(" ({})", target_text(row->candidate->key)),
                         unit.empty() ? "" : fmt::format(" for unit {}", unit), row->verdict->tier,
                         level_name(row->verdict->level), row->reason);
  }
  return lines;
}

}  // namespace

namespace runtime {

ExplainedSelection explain_story(const Selection& selection, std::span<const Candidate> candidates,
                                 const Device& device, const SelectPolicy& policy) {
  std::unordered_map<std::uint32_t, const Candidate*> by_id;
  for (const Candidate& candidate : candidates) by_id.emplace(candidate.record_id, &candidate);
  Story story;
  story.device = device_text(device);
  for (const Verdict& verdict : selection.verdicts) {
    const auto found = by_id.find(verdict.record_id);
    if (found == by_id.end()) continue;  // the caller passed other candidates than select() saw
    story.rows.push_back({&verdict, found->second, {}});
  }
  std::unordered_map<std::uint32_t, const Row*> row_of;
  for (const Row& row : story.rows) row_of.emplace(row.verdict->record_id, &row);
  std::unordered_map<std::string_view, const Row*> winner_of;  // by unit
  for (const std::uint32_t id : selection.chosen) {
    const auto row = row_of.find(id);
    if (row == row_of.end()) continue;
    story.chosen.push_back(row->second);
    winner_of.insert_or_assign(row->second->candidate->key.unit, row->second);
  }
  for (Row& row : story.rows) {
    const Axis axis = row.verdict->axis;
    std::string sentence = sentence_without_axis(*row.verdict, row.candidate->key, device, policy);
    if (axis == Axis::kIncomplete) sentence = incomplete_sentence(row, story.rows);
    const bool source = row.candidate->key.type == RecordType::kSourceModel;
    if (axis == Axis::kOutranked && source && !story.chosen.empty()) {
      sentence = outranked_sentence(row, *story.chosen.back());
    } else if (axis == Axis::kOutranked && !source) {
      const auto winner = winner_of.find(row.candidate->key.unit);
      if (winner != winner_of.end()) sentence = outranked_sentence(row, *winner->second);
    }
    row.reason = with_axis(std::move(sentence), axis);
  }
  return story;
}

std::string_view vendor_code_name(int code) {
  switch (code) {
    case 1008:
      return "INCOMPATIBLE_BINARIES";
    case 5004:
      return "BINARY_VERSION";
    case 5005:
      return "CREATE_FROM_BINARY";
    case 5008:
      return "BINARY_CONFIGURATION";
    case 5011:
      return "BINARY_SUBOPTIMAL";
    default:
      return "UNKNOWN";
  }
}

}  // namespace runtime

std::string explain_verdict(const Verdict& verdict, const Candidate& candidate, const Device& device,
                            const SelectPolicy& policy) {
  return with_axis(sentence_without_axis(verdict, candidate.key, device, policy), verdict.axis);
}

std::string explain_text(const Selection& selection, std::span<const Candidate> candidates, const Device& device,
                         const SelectPolicy& policy) {
  const Story story = runtime::explain_story(selection, candidates, device, policy);
  std::string text = fmt::format("device: {}\n", story.device);
  if (!selection.group.empty()) text += fmt::format("group:  {}\n", selection.group);
  if (policy.strict) text += "policy: strict\n";
  text += headline(selection, story, device);
  for (const std::string& warning : selection.warnings) {
    text += fmt::format("warning: {} [{}]\n", warning_text(warning), warning);
  }
  for (const DamagedRecord& record : selection.damaged) {
    text += fmt::format("damaged: {}: {}\n", record.name, to_text(record.error));
  }
  if (story.rows.size() > story.chosen.size()) text += story.chosen.empty() ? "records:\n" : "others:\n";
  for (const Row& row : story.rows) {
    if (!row.verdict->chosen) text += fmt::format("  {}: {}\n", row.candidate->name, row.reason);
  }
  return text;
}

}  // namespace fatctx
