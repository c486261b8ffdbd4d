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

Error contradiction(std::string_view who, std::string_view fact, std::string_view known, std::string_view stated) {
  return refused(fmt::format("{} has {} {}, and the target says {}; correct one of the two", who, fact, known, stated));
}

// Fills in the facts of `known` that are empty, and compares the others. `who` names its source in errors.
Status take(const SocIdentity& known, std::string_view who, const SocTable& table, PackKey& target) {
  if (!known.part.empty()) {
    if (target.part.empty()) target.part = known.part;
    if (!table.same_part(target.part, known.part)) return contradiction(who, "part", known.part, target.part);
  }
  if (known.qnn_soc) {
    if (target.qnn_soc == 0) target.qnn_soc = *known.qnn_soc;
    if (target.qnn_soc != *known.qnn_soc) {
      return contradiction(who, "vendor number", std::to_string(*known.qnn_soc), std::to_string(target.qnn_soc));
    }
  }
  if (!known.arch.empty()) {
    if (target.arch.empty()) target.arch = known.arch;
    if (target.arch != known.arch) return contradiction(who, "arch", known.arch, target.arch);
  }
  if (known.vtcm_mb) {
    if (target.vtcm_mb == 0) target.vtcm_mb = *known.vtcm_mb;
    if (target.vtcm_mb > *known.vtcm_mb) {
      return contradiction(who, "VTCM in MB:", std::to_string(*known.vtcm_mb), std::to_string(target.vtcm_mb));
    }
  }
  return Done{};
}

// Replaces a SoC that is named instead of an arch.
Status take_name(const SocTable& table, bool allow_unreachable, PackKey& target) {
  const std::string name = std::exchange(target.arch, std::string());
  const auto known = runtime::identity_from_text(table, name);
  if (known.ok()) {
    const std::string backend = runtime::device_of(known.value()).backend;
    if (backend == runtime::kHtpBackend) return take(known.value(), name, table, target);
    return refused(fmt::format("{} belongs to backend {}; state that backend instead of htp", name, backend));
  }
  if (!allow_unreachable) {
    return unreachable(
        fmt::format("\"{}\" is neither a Hexagon arch, such as v75, nor a SoC: {}", name, known.error().message));
  }
  target.arch = name;
  return Done{};
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

Result<PackKey> complete_htp(PackKey target, const SocTable& table, bool allow_unreachable) {
  if (!target.arch.empty() && !runtime::hexagon_number(target.arch)) {
    FATCTX_TRY(take_name(table, allow_unreachable, target));
  }
  if (!target.part.empty()) {
    const SocIdentity known = runtime::identity_of_part(table, target.part);
    if (known.rule != PartRule::kUnknown) {
      FATCTX_TRY(take(known, target.part, table, target));
    } else if (!allow_unreachable) {
      return unreachable(runtime::identity_from_text(table, target.part).error().message);
    }
  }
  if (target.qnn_soc != 0) {
    if (!table.with_qnn_soc(target.qnn_soc).empty()) {
      FATCTX_TRY(take(runtime::identity_of_qnn_soc(table, target.qnn_soc), fmt::format("SoC {}", target.qnn_soc), table,
                      target));
    } else if (!allow_unreachable) {
      return unreachable(fmt::format("no SoC of table {} has the vendor number {}", table.version(), target.qnn_soc));
    }
  }
  if (!allow_unreachable) FATCTX_TRY(check_arch(table, target.arch));
  return target;
}

}  // namespace

Result<PackKey> complete_target(PackKey target, const SocTable& table, bool allow_unreachable) {
  if (target.backend != runtime::kHtpBackend || target.generic) return target;
  return complete_htp(std::move(target), table, allow_unreachable);
}

}  // namespace fatctx
