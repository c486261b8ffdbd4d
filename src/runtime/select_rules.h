// The tables of selection, one record at a time: which axis refuses it, which tier it reaches, which of two is better.
#pragma once

#include <optional>

#include "fatctx/select.h"

namespace fatctx::runtime {

struct Fit {
  int tier = -1;
  Level level = Level::kUnsupported;
  Axis axis = Axis::kNone;  // why not, if tier is -1
};

// The first axis that refuses `candidate`, kNone if none does.
[[nodiscard]] Axis first_rejection(const Candidate& candidate, const Device& device, const SelectPolicy& policy);

// Axes, then tiers, then the strict filter.
[[nodiscard]] Fit judge(const Candidate& candidate, const Device& device, const SelectPolicy& policy);

// The same for the record that `policy.record_override` names: tier 0, and with `policy.force` no axis is asked.
[[nodiscard]] Fit judge_named(const Candidate& candidate, const Device& device, const SelectPolicy& policy);

// True if the record states less VTCM than the device is known to have. A record that states none is not smaller.
[[nodiscard]] bool vtcm_smaller(const SelectionKey& key, const Device& device) noexcept;

// True if both archs are Hexagon numbers and the record's is the lower one.
[[nodiscard]] bool arch_lower(const SelectionKey& key, const Device& device) noexcept;

// True if nothing could tell whether the device has the VTCM that a record on it counts on.
[[nodiscard]] bool vtcm_unverified(const SelectionKey& key, const Device& device) noexcept;

// True if both are known and the record's is above the device's. Compares major.minor only: the patch releases of a
// vendor SDK read each other's binaries.
[[nodiscard]] bool version_newer(const Version& record, const std::optional<Version>& device) noexcept;

enum class TieRule : std::uint8_t { kCpuLevel, kFeatureCount, kArch, kVtcm, kSdk, kKeyOrder, kRecordId };

// Which of two records of one tier comes first, and the rule that says so. Never a tie: record ids are unique.
struct TieDecision {
  bool first_wins = false;
  TieRule rule = TieRule::kRecordId;
};
[[nodiscard]] TieDecision break_tie(const Candidate& first, const Candidate& second, int tier);

// Order of the target part of two keys: everything but type, group and unit.
[[nodiscard]] std::strong_ordering compare_targets(SelectionKey a, SelectionKey b) noexcept;

}  // namespace fatctx::runtime
