#include "fatctx/targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "fatctx/device.h"
#include "runtime/device/arch.h"
#include "runtime/device/soc_identity.h"

namespace fatctx {
namespace {

using runtime::SocIdentity;

Error refused(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Error unreachable(std::string_view why) { return refused(fmt::format("{}: no device gets this record", why)); }

// A target with the facts of a SoC, or the reason why the SoC cannot be the one that was meant.
struct Taken {
  PackKey target;
  std::string contradiction;  // empty: there is none
};

std::string contradiction(std::string_view who, std::string_view fact, std::string_view known,
                          std::string_view stated) {
  return fmt::format("{} has {} {}, and the target says {}", who, fact, known, stated);
}

// Fills in the facts of `known` that are empty, and compares the others. `who` names its source in messages.
Taken taken(const SocIdentity& known, std::string_view who, const SocTable& table, PackKey target) {
  Taken result = {std::move(target), {}};
  PackKey& key = result.target;
  if (!known.part.empty()) {
    if (key.part.empty()) key.part = known.part;
    if (!table.same_part(key.part, known.part)) {
      result.contradiction = contradiction(who, "part", known.part, key.part);
      return result;
    }
  }
  if (known.qnn_soc) {
    if (key.qnn_soc == 0) key.qnn_soc = *known.qnn_soc;
    if (key.qnn_soc != *known.qnn_soc) {
      result.contradiction =
          contradiction(who, "vendor number", std::to_string(*known.qnn_soc), std::to_string(key.qnn_soc));
      return result;
    }
  }
  if (!known.arch.empty()) {
    if (key.arch.empty()) key.arch = known.arch;
    if (key.arch != known.arch) {
      result.contradiction = contradiction(who, "arch", known.arch, key.arch);
      return result;
    }
  }
  if (known.vtcm_mb) {
    if (key.vtcm_mb == 0) key.vtcm_mb = *known.vtcm_mb;
    if (key.vtcm_mb > *known.vtcm_mb) {
      result.contradiction =
          contradiction(who, "VTCM in MB:", std::to_string(*known.vtcm_mb), std::to_string(key.vtcm_mb));
    }
  }
  return result;
}

Status check_arch(const SocTable& table, std::string_view arch) {
  std::set<std::uint32_t> known;
  for (const Soc& soc : table.socs()) {
    if (const auto number = runtime::hexagon_number(soc.arch)) known.insert(*number);
  }
  const auto number = runtime::hexagon_number(arch);
  if (!number || known.contains(*number)) return Done{};
  return unreachable(
      fmt::format("no SoC of table {} has arch {} (v{})", table.version(), arch, fmt::join(known, ", v")));
}

// The target of one record while its facts are looked up.
class HtpTarget {
 public:
  HtpTarget(PackKey stated, const SocTable& table, bool allow_unreachable)
      : table_(table), allow_unreachable_(allow_unreachable), completed_{std::move(stated)} {}

  Result<CompletedTarget> complete() && {
    if (!key().arch.empty() && !runtime::hexagon_number(key().arch)) FATCTX_TRY(take_name());
    if (!key().part.empty()) FATCTX_TRY(take_part());
    if (key().qnn_soc != 0) FATCTX_TRY(take_number());
    if (!allow_unreachable_) FATCTX_TRY(check_arch(table_, key().arch));
    return std::move(completed_);
  }

 private:
  PackKey& key() { return completed_.key; }

  // Keeps the stated facts if it is allowed, because a person may know better than the table.
  Status contradicted(std::string text, std::string_view remedy = "correct one of the two") {
    if (!allow_unreachable_) return refused(fmt::format("{}; {}", text, remedy));
    completed_.warnings.push_back(std::move(text) + "; the target is kept as it is stated");
    return Done{};
  }

  Status take(const SocIdentity& known, std::string_view who) {
    Taken found = taken(known, who, table_, key());
    if (!found.contradiction.empty()) return contradicted(std::move(found.contradiction));
    key() = std::move(found.target);
    return Done{};
  }

  // Replaces a SoC that is named instead of an arch. A name whose facts contradict the others stays the arch.
  Status take_name() {
    const std::string name = key().arch;
    const auto known = runtime::identity_from_text(table_, name);
    if (!known.ok()) {
      if (allow_unreachable_) return Done{};
      return unreachable(
          fmt::format("\"{}\" is neither a Hexagon arch, such as v75, nor a SoC: {}", name, known.error().message));
    }
    const std::string backend = runtime::device_of(known.value()).backend;
    if (backend != runtime::kHtpBackend) {
      return contradicted(contradiction(name, "backend", backend, key().backend), "state that backend instead of htp");
    }
    PackKey others = key();
    others.arch.clear();
    Taken found = taken(known.value(), name, table_, std::move(others));
    if (!found.contradiction.empty()) return contradicted(std::move(found.contradiction));
    key() = std::move(found.target);
    return Done{};
  }

  Status take_part() {
    const SocIdentity known = runtime::identity_of_part(table_, key().part);
    if (known.rule != PartRule::kUnknown) return take(known, key().part);
    if (allow_unreachable_) return Done{};
    return unreachable(runtime::identity_from_text(table_, key().part).error().message);
  }

  Status take_number() {
    const std::uint32_t number = key().qnn_soc;
    if (!table_.with_qnn_soc(number).empty()) {
      return take(runtime::identity_of_qnn_soc(table_, number), fmt::format("SoC {}", number));
    }
    if (allow_unreachable_) return Done{};
    return unreachable(fmt::format("no SoC of table {} has the vendor number {}", table_.version(), number));
  }

  const SocTable& table_;
  const bool allow_unreachable_;
  CompletedTarget completed_;
};

}  // namespace

Result<CompletedTarget> complete_target(PackKey target, const SocTable& table, bool allow_unreachable) {
  if (target.backend != runtime::kHtpBackend || target.generic) return CompletedTarget{std::move(target), {}};
  return HtpTarget(std::move(target), table, allow_unreachable).complete();
}

TargetFilter complete_filter(TargetFilter filter, const SocTable& table) {
  const auto device = device_from_text(filter.arch, table);
  if (!device.ok()) return filter;
  const Device& soc = device.value();
  if (!soc.qnn_soc && !soc.part) return filter;  // an arch
  if (!filter.backend.empty() && filter.backend != soc.backend) return filter;
  // A stated number or part of another SoC stays: the filter then fits nothing, as it says.
  if ((filter.qnn_soc != 0 && filter.qnn_soc != soc.qnn_soc) || !filter.part.empty()) return filter;
  filter.backend = soc.backend;
  filter.arch.clear();
  filter.qnn_soc = soc.qnn_soc.value_or(0);
  if (!soc.qnn_soc) filter.part = *soc.part;
  return filter;
}

}  // namespace fatctx
