// The tables of selection, one record at a time: which axis refuses it, which tier it reaches, which of two is better.
#pragma once

#include <optional>
#include <vector>

#include "fatctx/select.h"
#include "runtime/device/arch.h"

namespace fatctx::runtime {

struct Fit {
  int tier = -1;
  Level level = Level::kUnsupported;
  Axis axis = Axis::kNone;  // why not, if tier is -1
};

// A source model that is compiled on the device.
inline constexpr int kSourceTier = 7;

// The table of SoCs, and the generation boundaries, that apply under a policy.
[[nodiscard]] SocTable table_of(const SelectPolicy& policy);
[[nodiscard]] std::vector<std::uint32_t> boundaries_of(const SelectPolicy& policy);

// The quirk that keeps a record from a device; null if there is none. Lifetime: that of the table.
[[nodiscard]] const SocQuirk* find_quirk(const SocTable& table, const SelectionKey& key, const Device& device);

// What is the same for every record. Borrows from device and policy.
struct DeviceFacts {
  DeviceFacts(const Device& of_device, const SelectPolicy& of_policy);

  const Device& device;
  const SelectPolicy& policy;
  const SocTable table;
  const std::vector<std::uint32_t>& boundaries;
  const bool cpu;
  const bool htp;
  const CpuArch cpu_arch;
  const std::optional<std::uint32_t> hexagon;
};

// Lifetime: borrows from device and policy.
class Rules {
 public:
  Rules(const Device& device, const SelectPolicy& policy) : own_(device, policy) {}

  // The first axis that refuses `candidate`, kNone if none does.
  [[nodiscard]] Axis first_rejection(const Candidate& candidate) const;
  // Axes, then tiers, then the strict filter.
  [[nodiscard]] Fit judge(const Candidate& candidate) const;
  // The same for the record that the policy names: tier 0, and with `force` no axis is asked.
  [[nodiscard]] Fit judge_named(const Candidate& candidate) const;
  // The same for a source model.
  [[nodiscard]] Fit judge_source(const Candidate& candidate) const;

 private:
  DeviceFacts own_;
};

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
