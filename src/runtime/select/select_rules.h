// The tables of selection, for one record at a time: the axis that rejects it, the tier it reaches, the better of two.
#pragma once

#include <optional>
#include <vector>

#include "fatctx/select.h"
#include "runtime/device/arch.h"

namespace fatctx::runtime {

struct Fit {
  int tier = -1;
  Level level = Level::kUnsupported;
  Axis axis = Axis::kNone;  // the reason if tier is -1
};

// The tier of a source model that is compiled on the device.
inline constexpr int kSourceTier = 7;

// Returns the table of SoCs, and the generation boundaries, that apply under a policy.
[[nodiscard]] SocTable table_of(const SelectPolicy& policy);
[[nodiscard]] std::vector<std::uint32_t> boundaries_of(const SelectPolicy& policy);

// Returns the quirk that excludes a record from a device; null if there is none. Lifetime: that of the table.
[[nodiscard]] const SocQuirk* find_quirk(const SocTable& table, const SelectionKey& key, const Device& device);

// The facts that are the same for every record. Borrows from device and policy.
struct DeviceFacts {
  DeviceFacts(const Device& of_device, const SelectPolicy& of_policy);

  const Device& device;
  const SelectPolicy& policy;
  const bool cpu;
  const bool htp;
  // None for a mere CPU. No rule asks it about one, and reading the table takes a process most of a millisecond.
  const std::optional<SocTable> table;
  const std::vector<std::uint32_t> boundaries;
  const CpuArch cpu_arch;
  const std::optional<std::uint32_t> hexagon;
};

// The rules for one device and policy. Lifetime: borrows from device and policy.
class Rules {
 public:
  Rules(const Device& device, const SelectPolicy& policy) : own_(device, policy) {}

  // Returns the first axis that rejects `candidate`; kNone if none does.
  [[nodiscard]] Axis first_rejection(const Candidate& candidate) const;
  // Applies the axes, then the tiers, then the strict filter.
  [[nodiscard]] Fit judge(const Candidate& candidate) const;
  // Judges the record that the policy names: its tier is 0, and with `force` no axis rejects it.
  [[nodiscard]] Fit judge_named(const Candidate& candidate) const;
  // Judges a source model.
  [[nodiscard]] Fit judge_source(const Candidate& candidate) const;

 private:
  DeviceFacts own_;
};

// Returns true if the record states less VTCM than the device is known to have. A record that states none is not
// smaller.
[[nodiscard]] bool vtcm_smaller(const SelectionKey& key, const Device& device) noexcept;

// Returns true if both archs are Hexagon numbers and the record's number is lower.
[[nodiscard]] bool arch_lower(const SelectionKey& key, const Device& device) noexcept;

// Returns true if it is unknown whether the device has the VTCM that the record needs.
[[nodiscard]] bool vtcm_unverified(const SelectionKey& key, const Device& device) noexcept;

// Returns true if both versions are known and the record's is higher than the device's. Compares only major.minor:
// patch releases of a vendor SDK read each other's binaries.
[[nodiscard]] bool version_newer(const Version& record, const std::optional<Version>& device) noexcept;

enum class TieRule : std::uint8_t { kCpuLevel, kFeatureCount, kArch, kVtcm, kSdk, kKeyOrder, kRecordId };

// A decision which of two records of one tier comes first, and the rule that made it. There is never a tie, because
// record ids are unique.
struct TieDecision {
  bool first_wins = false;
  TieRule rule = TieRule::kRecordId;
};
[[nodiscard]] TieDecision break_tie(const Candidate& first, const Candidate& second, int tier);

// Orders two keys by their target part: everything but type, group and unit.
[[nodiscard]] std::strong_ordering compare_targets(SelectionKey a, SelectionKey b) noexcept;

}  // namespace fatctx::runtime
