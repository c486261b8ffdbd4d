#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "fatctx/device.h"
#include "runtime/device/arch.h"
#include "runtime/device/probe.h"
#include "runtime/device/soc_facts.h"
#include "runtime/device/soc_rules.h"

namespace fatctx {
namespace {

using runtime::AskedSoc;
using runtime::SocIdentity;

constexpr std::uint32_t kMostVtcmMb = 1024;

// A setting: the value of an option, or else that of an environment variable, with its name.
struct Setting {
  std::string text;
  std::string from;  // empty: from an option of the call
};

Setting setting_of(const std::string& option, const char* variable, bool environment) {
  if (!option.empty() || !environment) return {option, {}};
  if (auto value = runtime::environment_variable(variable)) return {*std::move(value), variable};
  return {};
}

Error bad_setting(const Setting& setting, const char* option, const std::string& why) {
  return {ErrorCode::kInvalidConfig,
          fmt::format("{} is \"{}\": {}", setting.from.empty() ? option : setting.from.c_str(),
                      runtime::printable(setting.text), why)};
}

std::string note_of(const Setting& setting) {
  return setting.from.empty() ? std::string() : fmt::format("from {}", setting.from);
}

Result<SocTable> table_of(const DetectOptions& options) {
  if (options.soc_table) return *options.soc_table;
  return options.environment ? SocTable::from_environment() : SocTable::built_in();
}

Result<std::optional<std::uint32_t>> vtcm_of(const DetectOptions& options) {
  if (options.vtcm_mb == 0u || options.vtcm_mb > kMostVtcmMb) {
    return bad_setting({std::to_string(options.vtcm_mb.value_or(0)), {}}, "vtcm_mb",
                       fmt::format("allowed are 1 to {} MB", kMostVtcmMb));
  }
  if (options.vtcm_mb || !options.environment) return options.vtcm_mb;
  const Setting setting = setting_of({}, "FATCTX_VTCM_MB", true);
  if (setting.text.empty()) return std::optional<std::uint32_t>();
  const auto number = runtime::decimal_in(setting.text);
  if (number && *number >= 1 && *number <= kMostVtcmMb) return number;
  return bad_setting(setting, "vtcm_mb", fmt::format("allowed are 1 to {} MB", kMostVtcmMb));
}

Result<AskedSoc> asked_of(const DetectOptions& options, const SocTable& table) {
  AskedSoc asked;
  const Setting soc = setting_of(options.soc, "FATCTX_SOC", options.environment);
  const Setting arch = setting_of(options.arch, "FATCTX_ARCH", options.environment);
  FATCTX_ASSIGN(asked.vtcm_mb, vtcm_of(options));
  if (!arch.text.empty() && !runtime::hexagon_number(arch.text)) {
    return bad_setting(arch, "arch", "allowed is a Hexagon arch such as v79");
  }
  if (!soc.text.empty()) {
    auto identity = runtime::identity_from_text(table, soc.text);
    if (!identity.ok()) {
      return bad_setting(soc, "soc",
                         identity.error().message +
                             "; understood are parts (SM8750), QNN numbers (69), kernel "
                             "numbers (kernel:639), Hexagon archs (v79) and names as sold (Snapdragon 8 Elite)");
    }
    asked.instead = std::move(identity).value();
    asked.raw = soc.text;
    asked.note = note_of(soc);
    asked.disagree = !arch.text.empty() && !asked.instead->arch.empty() && asked.instead->arch != arch.text;
    if (asked.instead->arch.empty()) asked.instead->arch = arch.text;
  } else if (!arch.text.empty()) {
    FATCTX_ASSIGN(asked.instead, runtime::identity_from_text(table, arch.text));
    asked.raw = arch.text;
    asked.note = note_of(arch);
  } else if (asked.vtcm_mb) {
    asked.raw = fmt::format("vtcm {}", *asked.vtcm_mb);
  }
  return asked;
}

runtime::SocFacts machine_facts(const std::string& root) {
  runtime::SocFacts facts;
  runtime::read_soc_files(root, facts);
  if (root.empty()) {
    runtime::read_android_properties(facts);
    runtime::read_windows_registry(facts);
    facts.cpu_arch = runtime::built_for();
  } else {
    runtime::read_captured_texts(root, facts);
  }
  return facts;
}

void add_processor(Detection& detection) {
  detection.onnxruntime = runtime::onnxruntime_device();
  runtime::CpuProbe probe = runtime::probe_cpu();
  if (!probe.target.arch.empty()) {
    detection.device.arch = std::move(probe.target.arch);
    detection.device.features = std::move(probe.target.features);
  }
  detection.sources.insert(detection.sources.end(), std::make_move_iterator(probe.sources.begin()),
                           std::make_move_iterator(probe.sources.end()));
}

}  // namespace

Result<Detection> detect_device(const DetectOptions& options) {
  FATCTX_ASSIGN(const SocTable table, table_of(options));
  FATCTX_ASSIGN(const AskedSoc asked, asked_of(options, table));
  const bool ask_machine = !asked.instead.has_value();
  Detection detection = runtime::judge_soc(ask_machine ? machine_facts(options.root) : runtime::SocFacts{}, table,
                                           asked, options.backend);
  if (ask_machine && options.root.empty()) add_processor(detection);
  return detection;
}

Detection detect_device() {
  Detection detection = runtime::judge_soc(machine_facts({}), SocTable::built_in(), {}, std::nullopt);
  add_processor(detection);
  return detection;
}

const Device& device_for(const Detection& detection, std::span<const Candidate> candidates) noexcept {
  const auto wanted = [&](const Device& device) {
    return std::any_of(candidates.begin(), candidates.end(),
                       [&](const Candidate& candidate) { return candidate.key.backend == device.backend; });
  };
  if (detection.npu && wanted(*detection.npu)) return *detection.npu;
  if (detection.onnxruntime && wanted(*detection.onnxruntime) && !wanted(detection.device)) {
    return *detection.onnxruntime;
  }
  return detection.device;
}

}  // namespace fatctx
