// Chooses the records for a device: judges every record, then picks the best target that has every unit.
//
// The rules about one record (axes, tiers, ties) are tables in select_rules.cc; this file only combines records.
// Everything here is a pure function: no IO, no globals. The result does not depend on the order of the input.
// docs/selection.md describes the same rules in prose.
#include "fatctx/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "runtime/select/select_rules.h"

namespace fatctx {
namespace {

using runtime::Fit;

// A context binary of the group with its verdict.
struct Judged {
  const Candidate* candidate = nullptr;
  std::size_t verdict = 0;  // its index in Selection::verdicts
  Fit fit;

  [[nodiscard]] bool fits() const noexcept { return fit.tier >= 0; }
};

// A list of one record for each unit of the group, in unit order.
using Picks = std::vector<const Judged*>;

bool better(const Judged& a, const Judged& b) {
  if (a.fit.tier != b.fit.tier) return a.fit.tier < b.fit.tier;
  return runtime::break_tie(*a.candidate, *b.candidate, a.fit.tier).first_wins;
}

int worst_tier(const Picks& picks) {
  int tier = -1;
  for (const Judged* pick : picks) tier = std::max(tier, pick->fit.tier);
  return tier;
}

bool better_target(const Picks& a, const Picks& b) {
  if (worst_tier(a) != worst_tier(b)) return worst_tier(a) < worst_tier(b);
  return runtime::break_tie(*a.front()->candidate, *b.front()->candidate, worst_tier(a)).first_wins;
}

// A list of units in ascending order, without duplicates.
using Units = std::vector<std::string_view>;

// Returns the best record for each of `units`; empty if a unit has none. All of `records` fit. Uses one pass, because a
// group may have hundreds of units.
Picks pick_units(std::span<const Judged* const> records, const Units& units) {
  Picks picks(units.size(), nullptr);
  for (const Judged* record : records) {
    const auto unit = std::lower_bound(units.begin(), units.end(), record->candidate->key.unit);
    const Judged*& best = picks[static_cast<std::size_t>(unit - units.begin())];
    if (best == nullptr || better(*record, *best)) best = record;
  }
  if (std::find(picks.begin(), picks.end(), nullptr) != picks.end()) return {};
  return picks;
}

bool same_target(const Judged* a, const Judged* b) {
  return runtime::compare_targets(a->candidate->key, b->candidate->key) == 0;
}

// Returns the best target that has every unit, and marks the records of incomplete targets. Sorts only the records that
// fit, because most records do not.
Picks pick_target(std::vector<Judged>& records, const Units& units, bool mix_targets) {
  std::vector<const Judged*> by_target;
  for (const Judged& record : records) {
    if (record.fits()) by_target.push_back(&record);
  }
  if (units.size() == 1) return pick_units(by_target, units);
  std::sort(by_target.begin(), by_target.end(), [](const Judged* a, const Judged* b) {
    return runtime::compare_targets(a->candidate->key, b->candidate->key) < 0;
  });

  Picks best;
  std::vector<std::size_t> incomplete;
  for (auto first = by_target.begin(); first != by_target.end();) {
    const auto last = std::find_if(first, by_target.end(), [&](const Judged* r) { return !same_target(r, *first); });
    const Picks picks = pick_units({first, last}, units);
    if (picks.empty()) {
      for (auto record = first; record != last; ++record) {
        incomplete.push_back(static_cast<std::size_t>(*record - records.data()));
      }
    } else if (best.empty() || better_target(picks, best)) {
      best = picks;
    }
    first = last;
  }
  if (best.empty() && mix_targets) {
    best = pick_units(by_target, units);
    if (!best.empty()) return best;
  }
  for (const std::size_t index : incomplete) {
    records[index].fit = {.tier = -1, .level = Level::kUnsupported, .axis = Axis::kIncomplete};
  }
  return best;
}

// Returns the source models that serve every unit of the group: for each unit its own, or else the one without a unit.
// Each appears once.
Picks pick_sources(const std::vector<Judged>& sources, Units units) {
  if (units.empty()) {
    for (const Judged& source : sources) units.push_back(source.candidate->key.unit);
    std::sort(units.begin(), units.end());
    units.erase(std::unique(units.begin(), units.end()), units.end());
  }
  std::map<std::string_view, const Judged*> best;  // by unit
  for (const Judged& source : sources) {
    if (!source.fits()) continue;
    const Judged*& so_far = best[source.candidate->key.unit];
    if (so_far == nullptr || better(source, *so_far)) so_far = &source;
  }
  const auto best_of = [&](std::string_view unit) -> const Judged* {
    const auto found = best.find(unit);
    return found == best.end() ? nullptr : found->second;
  };
  Picks picks;
  std::set<const Judged*> picked;
  for (const std::string_view unit : units) {
    const Judged* pick = best_of(unit);
    if (pick == nullptr) pick = best_of({});
    if (pick == nullptr) return {};
    if (picked.insert(pick).second) picks.push_back(pick);
  }
  return picks;
}

Error several_groups(const std::set<std::string_view>& groups) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("no group was named and the container has {}: \"{}\"; name one of them", groups.size(),
                      fmt::join(groups, "\", \""))};
}

Error unknown_group(const std::string& group, const std::set<std::string_view>& groups) {
  return {ErrorCode::kInvalidArgument,
          groups.empty() ? fmt::format("group \"{}\" does not exist: the container has no context binary", group)
                         : fmt::format("group \"{}\" does not exist; the container has \"{}\"", group,
                                       fmt::join(groups, "\", \""))};
}

// Returns the record that the policy names; null if it names none.
Result<const Candidate*> find_named(std::span<const Candidate> candidates, const SelectPolicy& policy) {
  if (!policy.record_override) return static_cast<const Candidate*>(nullptr);
  std::set<std::string_view> names;
  const Candidate* other_type = nullptr;
  for (const Candidate& candidate : candidates) {
    const bool named = candidate.name == *policy.record_override;
    if (candidate.key.type != RecordType::kContextBinary) {
      if (named) other_type = &candidate;
      continue;
    }
    if (named) return &candidate;
    names.insert(candidate.name);
  }
  const std::string found =
      other_type == nullptr ? "does not exist" : fmt::format("is a {}", record_type_name(other_type->key.type));
  return Error{ErrorCode::kInvalidArgument, fmt::format("record \"{}\" {}; the context binaries are \"{}\"",
                                                        *policy.record_override, found, fmt::join(names, "\", \""))};
}

std::set<std::string_view> groups_with(std::span<const Candidate> candidates, RecordType type) {
  std::set<std::string_view> groups;
  std::optional<std::string_view> last;  // records of a group are mostly adjacent
  for (const Candidate& candidate : candidates) {
    if (candidate.key.type != type || last == candidate.key.group) continue;
    last = candidate.key.group;
    groups.insert(*last);
  }
  return groups;
}

Result<std::string_view> find_group(std::span<const Candidate> candidates, const SelectPolicy& policy,
                                    const Candidate* named) {
  std::set<std::string_view> groups = groups_with(candidates, RecordType::kContextBinary);
  if (groups.empty()) groups = groups_with(candidates, RecordType::kSourceModel);
  if (named != nullptr) {
    if (policy.group.empty() || policy.group == named->key.group) return named->key.group;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("record \"{}\" belongs to group \"{}\", but group \"{}\" was requested", named->name,
                             named->key.group, policy.group)};
  }
  if (!policy.group.empty()) {
    const auto group = groups.find(policy.group);
    if (group == groups.end()) return unknown_group(policy.group, groups);
    return *group;
  }
  if (groups.size() > 1) return several_groups(groups);
  return groups.empty() ? std::string_view() : *groups.begin();
}

// A named record also names its target: the other units come from that target, and all other records are passed over.
Fit judge(const Candidate& candidate, const runtime::Rules& rules, const Candidate* named) {
  const bool source = candidate.key.type == RecordType::kSourceModel;
  if (named == nullptr) return source ? rules.judge_source(candidate) : rules.judge(candidate);
  const bool of_named_target = &candidate == named || (candidate.key.unit != named->key.unit &&
                                                       runtime::compare_targets(candidate.key, named->key) == 0);
  if (of_named_target && !source) return rules.judge_named(candidate);
  return {.tier = -1, .level = Level::kUnsupported, .axis = Axis::kOverride};
}

enum VendorCode : int {
  kIncompatible = 1008,
  kVersion = 5004,
  kCreate = 5005,
  kConfiguration = 5008,
  kSuboptimal = 5011
};

int vendor_code_of(Axis axis) {
  switch (axis) {
    case Axis::kBackend:
      return kIncompatible;
    case Axis::kVersion:
      return kVersion;
    case Axis::kDamaged:
    case Axis::kWeights:
      return kCreate;
    case Axis::kStrict:
      return kSuboptimal;
    default:
      return kConfiguration;
  }
}

// Returns the specific code if all records have the same reason, and the general code for mixed reasons. Ignores
// records that were only passed over for a named one, and source models without a compile hook: they say nothing about
// the device.
int vendor_code(const std::vector<Judged>& records) {
  std::set<Axis> axes;
  for (const Judged& record : records) {
    if (record.fit.axis != Axis::kOverride && record.fit.axis != Axis::kNoHook) axes.insert(record.fit.axis);
  }
  if (axes.size() == 1) return vendor_code_of(*axes.begin());
  return axes.contains(Axis::kStrict) ? kSuboptimal : kConfiguration;
}

std::vector<std::string> warnings_for(const Picks& picks, const Device& device, const runtime::Rules& rules) {
  std::set<std::string> warnings;
  for (const Judged* pick : picks) {
    if (pick->fit.tier == runtime::kSourceTier) {
      warnings.insert("source_model");
      continue;
    }
    const SelectionKey& key = pick->candidate->key;
    if (pick->fit.tier == 6) warnings.insert("generic_record");
    if (pick->fit.tier <= 3 && runtime::vtcm_unverified(key, device)) warnings.insert("vtcm_unverified");
    if (rules.first_rejection(*pick->candidate) != Axis::kNone) warnings.insert("override_forced");
    if (!same_target(pick, picks.front())) warnings.insert("mixed_targets");
  }
  return {warnings.begin(), warnings.end()};
}

}  // namespace

Result<Selection> select(std::span<const Candidate> candidates, const Device& device, const SelectPolicy& policy) {
  FATCTX_ASSIGN(const Candidate* const named, find_named(candidates, policy));
  FATCTX_ASSIGN(const std::string_view group, find_group(candidates, policy, named));

  Selection selection;
  selection.group = group;
  const runtime::Rules rules(device, policy);
  std::vector<Judged> records;
  std::vector<Judged> sources;
  Units units;
  records.reserve(candidates.size());
  selection.verdicts.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    const bool source = candidate.key.type == RecordType::kSourceModel;
    if (!source && candidate.key.type != RecordType::kContextBinary) continue;
    if (candidate.key.group == group) {
      (source ? sources : records).push_back({&candidate, selection.verdicts.size(), judge(candidate, rules, named)});
      if (!source && (units.empty() || units.back() != candidate.key.unit)) units.push_back(candidate.key.unit);
    }
    selection.verdicts.push_back({.record_id = candidate.record_id, .axis = Axis::kGroup});
  }

  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  Picks picks = pick_target(records, units, policy.mix_targets);
  if (picks.empty()) picks = pick_sources(sources, units);
  for (const std::vector<Judged>* const judged : {&records, &sources}) {
    for (const Judged& record : *judged) {
      Verdict& verdict = selection.verdicts[record.verdict];
      verdict.tier = record.fit.tier;
      verdict.level = record.fit.level;
      verdict.axis = record.fits() ? Axis::kOutranked : record.fit.axis;
    }
  }
  for (const Judged* pick : picks) {
    Verdict& verdict = selection.verdicts[pick->verdict];
    verdict.chosen = true;
    verdict.axis = Axis::kNone;
    selection.chosen.push_back(verdict.record_id);
  }
  if (picks.empty()) {
    selection.vendor_code = vendor_code(records);
    return selection;
  }
  selection.tier = worst_tier(picks);
  selection.level = Level::kOptimal;
  for (const Judged* pick : picks) selection.level = std::max(selection.level, pick->fit.level);
  selection.warnings = warnings_for(picks, device, rules);
  return selection;
}

std::string_view axis_id(Axis axis) noexcept {
  switch (axis) {
    case Axis::kNone:
      return "none";
    case Axis::kBackend:
      return "A1";
    case Axis::kDamaged:
      return "A2";
    case Axis::kVersion:
      return "A3";
    case Axis::kArchNewer:
      return "A4";
    case Axis::kBoundary:
      return "A5";
    case Axis::kVtcm:
      return "A6";
    case Axis::kWeights:
      return "A7";
    case Axis::kQuirk:
      return "A8";
    case Axis::kIsa:
      return "C1";
    case Axis::kFeature:
      return "C2";
    case Axis::kNoTier:
      return "no_tier";
    case Axis::kStrict:
      return "strict";
    case Axis::kStrictLower:
      return "strict_lower";
    case Axis::kNoHook:
      return "no_hook";
    case Axis::kOverride:
      return "override";
    case Axis::kGroup:
      return "group";
    case Axis::kIncomplete:
      return "incomplete";
    case Axis::kOutranked:
      return "outranked";
  }
  return "unknown";
}

std::string_view level_name(Level level) noexcept {
  switch (level) {
    case Level::kOptimal:
      return "OPTIMAL";
    case Level::kPreferRecompilation:
      return "PREFER_RECOMPILATION";
    case Level::kFallback:
      return "FALLBACK";
    case Level::kUnsupported:
      return "UNSUPPORTED";
  }
  return "UNKNOWN";
}

}  // namespace fatctx
