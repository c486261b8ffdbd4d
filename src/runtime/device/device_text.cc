// Device descriptions as one line for people, and parsed from text.
#include "runtime/device/device_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "runtime/device/arch.h"
#include "runtime/device/soc_identity.h"

namespace fatctx {
namespace {

constexpr std::string_view kWordCharacters = "abcdefghijklmnopqrstuvwxyz0123456789._-";

Error not_a_device(std::string_view text, std::string_view why) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("device \"{}\": {}; understood are x86-64, x86-64-v1 to x86-64-v4 and aarch64, with feature "
                      "words behind \"+\" (aarch64+dotprod+i8mm), Hexagon archs (v75), each also with its backend in "
                      "front (cpu:aarch64, htp:v75), SoCs: parts (SM8750), QNN numbers (69), kernel numbers "
                      "(kernel:639) and names as sold (Snapdragon 8 Elite), and devices of other backends, with or "
                      "without an arch (ort-cpu, openvino:NPU)",
                      text, why)};
}

bool is_known_cpu_arch(std::string_view arch) {
  constexpr std::uint32_t kHighestLevel = 4;
  const auto cpu = runtime::parse_cpu_arch(arch);
  return arch == "aarch64" || (cpu.isa == "x86-64" && cpu.level >= 1 && cpu.level <= kHighestLevel);
}

// Archs of other backends have capitals, too: "NPU".
bool is_free_arch(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

// Parses the feature words behind an arch: "+dotprod+i8mm".
Result<std::vector<std::string>> features_in(std::string_view text, std::string_view rest) {
  std::vector<std::string> features;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find('+'));
    if (!runtime::is_word(word)) return not_a_device(text, fmt::format("\"{}\" is not a feature word", word));
    features.emplace_back(word);
    rest.remove_prefix(word.size());
  }
  runtime::sort_unique(features);
  return features;
}

// Parses "openvino:NPU", "openvino" or "ort-cpu". `rest` is the text behind the colon, or nothing.
Result<Device> device_of_other_backend(std::string_view text, std::string_view backend,
                                       std::optional<std::string_view> rest) {
  Device device = runtime::onnxruntime_device();
  if (backend != runtime::kOrtBackend) device = Device{.backend = std::string(backend)};
  if (!rest) return device;
  const std::string_view arch = rest->substr(0, rest->find('+'));
  if (!is_free_arch(arch)) return not_a_device(text, fmt::format("\"{}\" is not an arch", arch));
  if (backend == runtime::kOrtBackend && arch != runtime::kOrtArch) {
    return not_a_device(text, fmt::format("backend {} has only the arch {}", backend, runtime::kOrtArch));
  }
  device.arch = std::string(arch);
  FATCTX_ASSIGN(device.features, features_in(text, rest->substr(arch.size())));
  return device;
}

}  // namespace

namespace runtime {

bool is_word(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kWordCharacters) == std::string_view::npos;
}

void sort_unique(std::vector<std::string>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

std::string device_text(const Device& device) {
  const std::string features = fmt::format("{}", fmt::join(device.features, ","));
  const SelectionKey as_key = {.backend = device.backend,
                               .qnn_soc = device.qnn_soc.value_or(0),
                               .part = device.part ? std::string_view(*device.part) : std::string_view(),
                               .arch = device.arch ? std::string_view(*device.arch) : std::string_view(),
                               .features = features,
                               .vtcm_mb = device.vtcm_mb.value_or(0),
                               .sdk = device.sdk.value_or(Version{})};
  std::string text = target_text(as_key);
  if (!device.arch && !device.part && !device.qnn_soc) text += ", otherwise unknown";
  return text;
}

}  // namespace runtime

Result<Device> device_from_text(std::string_view text) { return device_from_text(text, SocTable::built_in()); }

Result<Device> device_from_text(std::string_view text, const SocTable& table) {
  if (runtime::has_free_archs(text)) return device_of_other_backend(text, text, std::nullopt);
  std::string_view rest = text;
  std::string_view backend;
  const auto colon = rest.find(':');
  if (colon != std::string_view::npos && !rest.starts_with("kernel:")) {
    backend = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
    if (runtime::has_free_archs(backend)) return device_of_other_backend(text, backend, rest);
    if (backend != runtime::kCpuBackend && backend != runtime::kHtpBackend) {
      return not_a_device(text, fmt::format("backend \"{}\" is not known here", backend));
    }
  }
  const std::string_view arch = rest.substr(0, rest.find('+'));
  rest.remove_prefix(arch.size());

  Device device;
  if (runtime::hexagon_number(arch)) {
    if (backend == runtime::kCpuBackend) return not_a_device(text, "a Hexagon arch does not belong to backend cpu");
    if (!rest.empty()) return not_a_device(text, "a Hexagon arch has no feature words");
    device.backend = runtime::kHtpBackend;
  } else if (is_known_cpu_arch(arch)) {
    if (backend == runtime::kHtpBackend) return not_a_device(text, "a CPU arch does not belong to backend htp");
    device.backend = runtime::kCpuBackend;
  } else {
    auto soc = runtime::identity_from_text(table, arch);
    if (!soc.ok()) return not_a_device(text, fmt::format("\"{}\": {}", arch, soc.error().message));
    device = runtime::device_of(soc.value());
    if (!backend.empty() && backend != device.backend) {
      return not_a_device(text, fmt::format("{} belongs to backend {}", arch, device.backend));
    }
    if (!rest.empty()) return not_a_device(text, "a SoC has no feature words");
    return device;
  }
  device.arch = arch == "x86-64" ? "x86-64-v1" : std::string(arch);
  FATCTX_ASSIGN(device.features, features_in(text, rest));
  return device;
}

}  // namespace fatctx
