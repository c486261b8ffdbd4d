#include "runtime/device/soc_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "fatctx/base/nearest.h"
#include "runtime/device/arch.h"
#include "runtime/device/soc_rows.h"

namespace fatctx::runtime {
namespace {

constexpr std::string_view kKernel = "kernel:";

struct BackendOfRuntime {
  std::string_view runtime;
  std::string_view backend;
};
constexpr std::array kBackends = {
    BackendOfRuntime{"HTP", kHtpBackend},         BackendOfRuntime{"DSP", "dsp"},
    BackendOfRuntime{"NeuroPilot", "neuropilot"}, BackendOfRuntime{"EdgeTPU", "edgetpu"},
    BackendOfRuntime{"OpenVINO NPU", "openvino"}, BackendOfRuntime{"Enn", "enn"},
    BackendOfRuntime{"TensorRT/CUDA", "cuda"},
};

std::string_view backend_of(std::string_view runtime) {
  const auto* const row =
      std::find_if(kBackends.begin(), kBackends.end(), [&](const BackendOfRuntime& b) { return b.runtime == runtime; });
  return row == kBackends.end() ? kHtpBackend : row->backend;
}

// Backends of providers that the table has no SoCs for.
constexpr std::array<std::string_view, 3> kBackendsWithoutSocs = {kOrtBackend, "tensorrt", "vitisai"};

std::string variant_of(const Soc& soc, std::uint32_t kernel_id) {
  const auto variant = std::find_if(soc.kernel_variants.begin(), soc.kernel_variants.end(),
                                    [&](const SocVariant& v) { return v.kernel_id == kernel_id; });
  return variant == soc.kernel_variants.end() ? std::string() : variant->name;
}

Error not_understood(std::string message) { return {ErrorCode::kInvalidConfig, std::move(message)}; }

Error unknown_number(const SocTable& table, std::uint32_t number) {
  const Soc* const by_kernel_id = table.with_kernel_id(number);
  if (by_kernel_id == nullptr) {
    return not_understood(fmt::format("no SoC of table {} has the QNN number {}", table.version(), number));
  }
  const std::string qnn = by_kernel_id->qnn_soc ? fmt::format(" or the QNN number {}", *by_kernel_id->qnn_soc) : "";
  return not_understood(
      fmt::format("a bare number is a QNN number, and {} is the kernel's number of {}; write kernel:{}, {}{}", number,
                  by_kernel_id->part, number, by_kernel_id->part, qnn));
}

Error unknown_part(const SocTable& table, std::string_view text) {
  std::vector<std::string> known;
  for (const Soc& soc : table.socs()) {
    known.push_back(part_key(soc.part));
    for (const std::string& alias : soc.aliases) known.push_back(part_key(alias));
  }
  const auto near = nearest(part_key(text), known);
  return not_understood(fmt::format("no SoC of table {} has this name{}", table.version(),
                                    near ? fmt::format(" (did you mean {}?)", table.name_part(*near).part) : ""));
}

// Returns a name as sold without its brand, blanks and the case of its letters: "8gen3".
std::string sold_key(std::string_view name) {
  std::string key;
  for (const char c : name) {
    const bool letter = c >= 'A' && c <= 'Z';
    if (letter || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+') {
      key += static_cast<char>(letter ? c - 'A' + 'a' : c);
    }
  }
  constexpr std::string_view kBrand = "snapdragon";
  return key.starts_with(kBrand) ? key.substr(kBrand.size()) : key;
}

// Returns the parts that are sold under this name.
std::vector<const Soc*> sold_as(const SocTable& table, std::string_view name) {
  const std::string key = sold_key(name);
  std::vector<const Soc*> socs;
  if (key.empty()) return socs;
  for (const Soc& soc : table.socs()) {
    if (soc.alias_of.empty() && sold_key(soc.name) == key) socs.push_back(&soc);
  }
  return socs;
}

// Returns the fact if all rows state it and agree.
template <typename Fact>
Fact in_common(const std::vector<const Soc*>& socs, Fact Soc::*fact) {
  const Fact& first = socs.front()->*fact;
  const bool same = std::all_of(socs.begin(), socs.end(), [&](const Soc* soc) { return soc->*fact == first; });
  return same ? first : Fact();
}

}  // namespace

SocIdentity identity_of(const Soc& soc) {
  return {.vendor = soc.vendor,
          .part = soc.part,
          .variant = {},
          .qnn_soc = soc.qnn_soc,
          .arch = soc.arch,
          .vtcm_mb = soc.vtcm_mb,
          .runtime = soc.runtime,
          .rule = std::nullopt};
}

std::optional<SocIdentity> identity_of_kernel_id(const SocTable& table, std::uint32_t kernel_id) {
  const Soc* const soc = table.with_kernel_id(kernel_id);
  if (soc == nullptr) return std::nullopt;
  SocIdentity identity = identity_of(*soc);
  identity.variant = variant_of(*soc, kernel_id);
  return identity;
}

SocIdentity identity_of_qnn_soc(const SocTable& table, std::uint32_t qnn_soc) {
  const std::vector<const Soc*> socs = table.with_qnn_soc(qnn_soc);
  if (socs.size() == 1) return identity_of(*socs.front());
  SocIdentity identity;
  identity.qnn_soc = qnn_soc;
  if (socs.empty()) return identity;
  identity.vendor = in_common(socs, &Soc::vendor);
  identity.arch = in_common(socs, &Soc::arch);
  identity.vtcm_mb = in_common(socs, &Soc::vtcm_mb);
  identity.runtime = in_common(socs, &Soc::runtime);
  return identity;
}

SocIdentity identity_of_part(const SocTable& table, std::string_view name) {
  const NamedPart named = table.name_part(name);
  SocIdentity identity = named.soc != nullptr ? identity_of(*named.soc) : SocIdentity{};
  identity.part = named.part;
  identity.rule = named.rule;
  return identity;
}

Result<SocIdentity> identity_from_text(const SocTable& table, std::string_view text) {
  if (hexagon_number(text)) {
    SocIdentity identity;
    identity.arch = text;
    identity.runtime = "HTP";
    return identity;
  }
  if (text.starts_with(kKernel)) {
    const auto number = decimal_in(text.substr(kKernel.size()));
    if (number) {
      if (auto identity = identity_of_kernel_id(table, *number)) return *std::move(identity);
    }
    return not_understood(
        fmt::format("no SoC of table {} has the kernel number \"{}\"", table.version(), text.substr(kKernel.size())));
  }
  if (const auto number = decimal_in(text)) {
    SocIdentity identity = identity_of_qnn_soc(table, *number);
    if (table.with_qnn_soc(*number).empty()) return unknown_number(table, *number);
    return identity;
  }
  SocIdentity identity = identity_of_part(table, text);
  if (identity.rule != PartRule::kUnknown) return identity;
  const std::vector<const Soc*> sold = sold_as(table, text);
  if (sold.empty()) return unknown_part(table, text);
  if (sold.size() == 1) return identity_of(*sold.front());
  std::vector<std::string_view> parts;
  parts.reserve(sold.size());
  for (const Soc* const soc : sold) parts.push_back(soc->part);
  return not_understood(
      fmt::format("several parts are sold under this name: {}; write one of them", fmt::join(parts, ", ")));
}

Device device_of(const SocIdentity& identity) {
  Device device;
  device.backend = backend_of(identity.runtime);
  if (!identity.part.empty()) device.part = identity.part;
  device.qnn_soc = identity.qnn_soc;
  if (!identity.arch.empty()) device.arch = identity.arch;
  device.vtcm_mb = identity.vtcm_mb;
  return device;
}

bool has_free_archs(std::string_view backend) noexcept {
  if (backend == kCpuBackend || backend == kHtpBackend) return false;
  return std::any_of(kBackends.begin(), kBackends.end(),
                     [&](const BackendOfRuntime& b) { return b.backend == backend; }) ||
         std::find(kBackendsWithoutSocs.begin(), kBackendsWithoutSocs.end(), backend) != kBackendsWithoutSocs.end();
}

Device onnxruntime_device() {
  Device device;
  device.backend = kOrtBackend;
  device.arch = std::string(kOrtArch);
  return device;
}

std::optional<std::uint32_t> decimal_in(std::string_view text) noexcept {
  constexpr std::string_view kAround = " \t\r\n";
  const auto first = text.find_first_not_of(kAround);
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(kAround) - first + 1);
  std::uint32_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace fatctx::runtime
