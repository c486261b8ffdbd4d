#include "runtime/select/select_rules.h"

#include <algorithm>
#include <tuple>

#include "runtime/device/arch.h"

namespace fatctx::runtime {
namespace {

// The input of the rules: one record and one device, with their texts already parsed.
struct Facts {
  const Candidate& candidate;
  const SelectionKey& key;
  const DeviceFacts& own;
  const Device& device;
  const SelectPolicy& policy;
  CpuArch record_cpu;
  std::optional<std::uint32_t> record_hexagon;
};

Facts read_facts(const Candidate& candidate, const DeviceFacts& own) {
  const SelectionKey& key = candidate.key;
  return {.candidate = candidate,
          .key = key,
          .own = own,
          .device = own.device,
          .policy = own.policy,
          .record_cpu = own.cpu ? parse_cpu_arch(key.arch) : CpuArch(),
          .record_hexagon = own.htp ? hexagon_number(key.arch) : std::nullopt};
}

bool any_version_newer(const Facts& f) noexcept {
  return version_newer(f.key.blob, f.device.blob) || version_newer(f.key.api, f.device.api) ||
         version_newer(f.key.sdk, f.device.sdk) || version_newer(f.key.sdk, f.policy.max_sdk);
}

bool both_hexagon(const Facts& f) noexcept { return f.record_hexagon && f.own.hexagon; }

bool generation_boundary_between(const Facts& f) {
  return both_hexagon(f) && std::any_of(f.own.boundaries.begin(), f.own.boundaries.end(), [&](std::uint32_t boundary) {
           return *f.record_hexagon < boundary && boundary <= *f.own.hexagon;
         });
}

bool archs_known(const Facts& f) noexcept { return f.device.arch && !f.device.arch->empty() && !f.key.arch.empty(); }

bool same_arch(const Facts& f) noexcept { return archs_known(f) && f.key.arch == *f.device.arch; }

bool same_part(const Facts& f) {
  return f.device.part && !f.key.part.empty() && f.own.table && f.own.table->same_part(f.key.part, *f.device.part);
}

bool same_number(const Facts& f) noexcept {
  return f.device.qnn_soc && f.key.qnn_soc != 0 && f.key.qnn_soc == *f.device.qnn_soc;
}

bool same_vtcm_or_unknown(const Facts& f) noexcept { return !f.device.vtcm_mb || f.key.vtcm_mb == *f.device.vtcm_mb; }

bool same_isa(const Facts& f) noexcept { return archs_known(f) && f.record_cpu.isa == f.own.cpu_arch.isa; }

bool cpu_level_or_feature_missing(const Facts& f) {
  return archs_known(f) &&
         (f.record_cpu.level > f.own.cpu_arch.level || !missing_words(f.key.features, f.device.features).empty());
}

// Returns true if the record was built for the device's own level. Compilers target x86-64 levels, and words beyond
// them only break ties. If an instruction set has no levels, its words are the level. Requires: no word is missing.
bool uses_own_level(const Facts& f) {
  if (!same_isa(f) || f.record_cpu.level != f.own.cpu_arch.level) return false;
  return has_levels(f.record_cpu) || feature_words(f.key.features).size() == f.device.features.size();
}

enum class Family : std::uint8_t { kCpu, kAccelerator, kEvery };

bool applies(Family family, const DeviceFacts& own) noexcept {
  return family == Family::kEvery || (family == Family::kCpu) == own.cpu;
}

struct AxisRow {
  Axis axis;
  Family family;
  bool (*fires)(const Facts&);
};

// The table of docs/selection.md, "Axes": the first row that fires is the record's reason.
constexpr AxisRow kAxes[] = {
    {Axis::kBackend, Family::kEvery, [](const Facts& f) { return f.key.backend != f.device.backend; }},
    {Axis::kDamaged, Family::kEvery, [](const Facts& f) { return f.candidate.state == RecordState::kBad; }},
    {Axis::kVersion, Family::kAccelerator, [](const Facts& f) { return any_version_newer(f); }},
    {Axis::kArchNewer, Family::kAccelerator,
     [](const Facts& f) { return both_hexagon(f) && *f.record_hexagon > *f.own.hexagon; }},
    {Axis::kBoundary, Family::kAccelerator, [](const Facts& f) { return generation_boundary_between(f); }},
    {Axis::kVtcm, Family::kAccelerator,
     [](const Facts& f) { return f.device.vtcm_mb && f.key.vtcm_mb > *f.device.vtcm_mb; }},
    {Axis::kQuirk, Family::kAccelerator,
     [](const Facts& f) { return f.own.table && find_quirk(*f.own.table, f.key, f.device) != nullptr; }},
    {Axis::kIsa, Family::kCpu, [](const Facts& f) { return archs_known(f) && !same_isa(f); }},
    {Axis::kFeature, Family::kCpu, [](const Facts& f) { return cpu_level_or_feature_missing(f); }},
    {Axis::kWeights, Family::kEvery, [](const Facts& f) { return !f.candidate.weights_ok; }},
};

struct TierRow {
  int tier;
  Family family;
  bool (*matches)(const Facts&);
};

// The table of docs/selection.md, "Tiers": the first row that matches is the record's tier. For a device without known
// facts only the last row matches, so that such a device never gets "the first record".
constexpr TierRow kTiers[] = {
    {1, Family::kAccelerator, [](const Facts& f) { return same_part(f); }},
    {2, Family::kAccelerator, [](const Facts& f) { return same_number(f); }},
    {3, Family::kAccelerator, [](const Facts& f) { return same_arch(f) && same_vtcm_or_unknown(f); }},
    {4, Family::kAccelerator, [](const Facts& f) { return same_arch(f); }},
    {5, Family::kAccelerator, [](const Facts& f) { return f.policy.allow_lower_arch && arch_lower(f.key, f.device); }},
    {3, Family::kCpu, [](const Facts& f) { return !f.key.generic && uses_own_level(f); }},
    {5, Family::kCpu, [](const Facts& f) { return !f.key.generic && same_isa(f); }},
    {6, Family::kEvery, [](const Facts& f) { return f.policy.allow_generic && is_generic(f.key); }},
};

Level level_of(int tier, const Facts& f) {
  switch (tier) {
    case 0:
      if (is_generic(f.key)) return Level::kFallback;
      if (f.device.backend == kCpuBackend) return uses_own_level(f) ? Level::kOptimal : Level::kPreferRecompilation;
      return arch_lower(f.key, f.device) || vtcm_smaller(f.key, f.device) ? Level::kPreferRecompilation
                                                                          : Level::kOptimal;
    case 1:
    case 2:
      return vtcm_smaller(f.key, f.device) ? Level::kPreferRecompilation : Level::kOptimal;
    case 3:
      return Level::kOptimal;
    case 4:
    case 5:
      return Level::kPreferRecompilation;
    default:
      return Level::kFallback;
  }
}

Axis strict_rejection(int tier, const Facts& f) {
  if (!f.policy.strict) return Axis::kNone;
  if (tier >= 5) return Axis::kStrictLower;
  return tier == 4 || vtcm_smaller(f.key, f.device) ? Axis::kStrict : Axis::kNone;
}

Axis first_rejection(const Facts& f) {
  for (const AxisRow& row : kAxes) {
    if (applies(row.family, f.own) && row.fires(f)) return row.axis;
  }
  return Axis::kNone;
}

Fit reject(Axis axis) { return {.tier = -1, .level = Level::kUnsupported, .axis = axis}; }

Fit accept(int tier, const Facts& f) {
  if (const Axis axis = strict_rejection(tier, f); axis != Axis::kNone) return reject(axis);
  return {.tier = tier, .level = level_of(tier, f), .axis = Axis::kNone};
}

// A record that states no VTCM was built with the vendor's default.
constexpr std::uint32_t kDefaultVtcmMb = 4;
std::uint32_t vtcm_for_order(const SelectionKey& key) { return key.vtcm_mb == 0 ? kDefaultVtcmMb : key.vtcm_mb; }

}  // namespace

bool vtcm_smaller(const SelectionKey& key, const Device& device) noexcept {
  return device.backend != kCpuBackend && device.vtcm_mb && key.vtcm_mb != 0 && key.vtcm_mb < *device.vtcm_mb;
}

bool arch_lower(const SelectionKey& key, const Device& device) noexcept {
  if (device.backend != kHtpBackend || !device.arch) return false;
  const auto record = hexagon_number(key.arch);
  const auto own = hexagon_number(*device.arch);
  return record && own && *record < *own;
}

bool version_newer(const Version& record, const std::optional<Version>& device) noexcept {
  if (!device || !device->known()) return false;
  return std::tie(record.major, record.minor) > std::tie(device->major, device->minor);
}

bool vtcm_unverified(const SelectionKey& key, const Device& device) noexcept {
  if (device.backend == kCpuBackend || device.vtcm_mb || is_generic(key)) return false;
  return device.backend == kHtpBackend || key.vtcm_mb != 0;
}

const SocQuirk* find_quirk(const SocTable& table, const SelectionKey& key, const Device& device) {
  const auto is = [&](const std::string& part, std::string_view name, std::uint32_t number) {
    if (!name.empty()) return table.same_part(part, name);
    const Soc* const soc = number == 0 ? nullptr : table.name_part(part).soc;
    return soc != nullptr && soc->qnn_soc == number;
  };
  for (const SocQuirk& quirk : table.quirks()) {
    if (is(quirk.record, key.part, key.qnn_soc) &&
        is(quirk.device, device.part ? std::string_view(*device.part) : std::string_view(), device.qnn_soc.value_or(0)))
      return &quirk;
  }
  return nullptr;
}

SocTable table_of(const SelectPolicy& policy) { return policy.soc_table ? *policy.soc_table : SocTable::built_in(); }

std::vector<std::uint32_t> boundaries_of(const SelectPolicy& policy) {
  return policy.boundaries ? *policy.boundaries : table_of(policy).boundaries();
}

DeviceFacts::DeviceFacts(const Device& of_device, const SelectPolicy& of_policy)
    : device(of_device),
      policy(of_policy),
      cpu(of_device.backend == kCpuBackend),
      htp(of_device.backend == kHtpBackend),
      table(cpu && !of_device.part ? std::nullopt : std::optional(table_of(of_policy))),
      boundaries(htp ? boundaries_of(of_policy) : std::vector<std::uint32_t>()),
      cpu_arch(parse_cpu_arch(of_device.arch ? std::string_view(*of_device.arch) : std::string_view())),
      hexagon(htp && of_device.arch ? hexagon_number(*of_device.arch) : std::nullopt) {}

Axis Rules::first_rejection(const Candidate& candidate) const {
  return runtime::first_rejection(read_facts(candidate, own_));
}

Fit Rules::judge(const Candidate& candidate) const {
  const Facts facts = read_facts(candidate, own_);
  if (const Axis axis = runtime::first_rejection(facts); axis != Axis::kNone) return reject(axis);
  for (const TierRow& row : kTiers) {
    if (applies(row.family, own_) && row.matches(facts)) return accept(row.tier, facts);
  }
  return reject(Axis::kNoTier);
}

Fit Rules::judge_named(const Candidate& candidate) const {
  const Facts facts = read_facts(candidate, own_);
  const Axis axis = runtime::first_rejection(facts);
  if (axis == Axis::kNone) return accept(0, facts);
  if (!own_.policy.force) return reject(axis);
  return {.tier = 0, .level = Level::kFallback, .axis = Axis::kNone};  // may fail to load, so never called optimal
}

// Ignores the target of a source model, because it will be compiled for the device. A stated backend still counts.
Fit Rules::judge_source(const Candidate& candidate) const {
  if (!candidate.key.backend.empty() && candidate.key.backend != own_.device.backend) return reject(Axis::kBackend);
  if (candidate.state == RecordState::kBad) return reject(Axis::kDamaged);
  if (!own_.policy.prepare_hook) return reject(Axis::kNoHook);
  return accept(kSourceTier, read_facts(candidate, own_));
}

TieDecision break_tie(const Candidate& first, const Candidate& second, int tier) {
  const auto [a, b] = std::tie(first.key, second.key);
  if (a.backend == kCpuBackend && b.backend == kCpuBackend) {
    const auto level_a = parse_cpu_arch(a.arch).level;
    const auto level_b = parse_cpu_arch(b.arch).level;
    if (level_a != level_b) return {level_a > level_b, TieRule::kCpuLevel};
    const auto words_a = feature_words(a.features).size();
    const auto words_b = feature_words(b.features).size();
    if (words_a != words_b) return {words_a > words_b, TieRule::kFeatureCount};
  } else {
    const auto arch_a = hexagon_number(a.arch);
    const auto arch_b = hexagon_number(b.arch);
    if (tier == 5 && arch_a != arch_b) return {arch_a > arch_b, TieRule::kArch};
    if (vtcm_for_order(a) != vtcm_for_order(b)) return {vtcm_for_order(a) > vtcm_for_order(b), TieRule::kVtcm};
    if (a.sdk != b.sdk) return {a.sdk > b.sdk, TieRule::kSdk};
  }
  if (const auto order = compare_keys(a, b); order != 0) return {order < 0, TieRule::kKeyOrder};
  return {first.record_id < second.record_id, TieRule::kRecordId};
}

std::strong_ordering compare_targets(SelectionKey a, SelectionKey b) noexcept {
  a.type = b.type;
  a.group = b.group;
  a.unit = b.unit;
  return compare_keys(a, b);
}

}  // namespace fatctx::runtime
