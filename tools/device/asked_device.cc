#include "tools/device/asked_device.h"

#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/print.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

constexpr std::string_view kThisMachine = "auto";

// Parses a description. `fatctx device --json` wraps the devices with how they were found; a bare one is
// taken as well.
Result<Detection> described_in(const std::string& text) {
  JsonFault fault;
  const auto document = read_json(text, kMaxJsonDepth, fault);
  const Json* const schema = document ? document->find("schema") : nullptr;
  const bool wrapped = schema != nullptr && *schema == Json("fatctx.detection/1");
  const auto part = [&](const char* key) { return wrapped ? document->find(key) : nullptr; };
  const Json* const device = part("device");
  Detection detection;
  FATCTX_ASSIGN(detection.device, device_from_json(device == nullptr ? text : json_line(*device)));
  if (const Json* const npu = part("npu")) {
    FATCTX_ASSIGN(detection.npu, device_from_json(json_line(*npu)));
  }
  if (const Json* const onnxruntime = part("onnxruntime")) {
    FATCTX_ASSIGN(detection.onnxruntime, device_from_json(json_line(*onnxruntime)));
  }
  return detection;
}

Result<Detection> described(const DeviceFlags& flags, const SocTable& table) {
  Detection detection;
  if (!flags.device.empty() && flags.device != kThisMachine) {
    FATCTX_ASSIGN(detection.device, device_in_words(flags.device, table));
    return detection;
  }
  if (flags.device_file.empty()) return detect_device({.soc_table = table, .environment = true});
  FATCTX_ASSIGN(const std::string text, read_text_file(flags.device_file));
  auto found = described_in(text);
  if (!found.ok()) return in_context(std::move(found).error(), flags.device_file);
  return found;
}

}  // namespace

void add_device_flags(CLI::App& command, DeviceFlags& flags) {
  auto* device =
      command.add_option("--device", flags.device, "A device, such as x86-64-v3 or SM8650; default auto: this machine");
  device->type_name("TEXT");
  command.add_option("--device-file", flags.device_file, "A device as JSON, from `fatctx device --json`")
      ->type_name("JSON")
      ->excludes(device);
  command.add_option("--sdk", flags.sdk, "SDK version on the device")->type_name("VERSION");
  command.add_option("--api", flags.api, "Version of the backend's API on the device")->type_name("VERSION");
  command.add_option("--blob", flags.blob, "Newest version of a context blob that it reads")->type_name("VERSION");
  command.add_option("--vtcm-mb,--vtcm", flags.vtcm_mb, "VTCM of the device, in MB, instead of the known one")
      ->type_name("N")
      ->check(whole_number(1, std::numeric_limits<std::uint32_t>::max()));
  command.add_option("--soc-table", flags.soc_table, "A table of SoCs; default FATCTX_SOC_TABLE, or the built-in one")
      ->type_name("FILE");
}

Result<AskedDevice> asked_device(const DeviceFlags& flags) {
  FATCTX_ASSIGN(SocTable table, asked_soc_table(flags.soc_table));
  FATCTX_ASSIGN(Detection detection, described(flags, table));
  FATCTX_TRY(add_stated_facts(flags, detection.device));
  if (detection.npu) FATCTX_TRY(add_stated_facts(flags, *detection.npu));
  if (detection.onnxruntime) FATCTX_TRY(add_stated_facts(flags, *detection.onnxruntime));
  return AskedDevice{std::move(table), std::move(detection)};
}

Status add_stated_facts(const DeviceFlags& flags, Device& device) {
  struct Row {
    const char* option;
    const std::string& text;
    std::optional<Version>& version;
  };
  for (const Row& row : {Row{"--sdk", flags.sdk, device.sdk}, Row{"--api", flags.api, device.api},
                         Row{"--blob", flags.blob, device.blob}}) {
    if (row.text.empty()) continue;
    auto version = parse_version(row.text);
    if (!version.ok()) return in_context(std::move(version).error(), row.option);
    row.version = version.value();
  }
  if (flags.vtcm_mb != 0) device.vtcm_mb = flags.vtcm_mb;
  return Done{};
}

Result<Device> device_in_words(const std::string& text, const SocTable& table) {
  FATCTX_ASSIGN(Device device, device_from_text(text, table));
  // Records must name the very same word, so a spelling mistake makes all of them refuse the device.
  for (const std::string& unknown : unknown_target_words(device.backend, device.arch.value_or(""), device.features)) {
    print_note(escaped(fmt::format("note: device \"{}\": {}", text, unknown)));
  }
  return device;
}

Result<SocTable> asked_soc_table(const std::string& file) {
  return file.empty() ? SocTable::from_environment() : SocTable::read(file);
}

}  // namespace fatctx::tools
