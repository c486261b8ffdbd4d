// fatctx device: describes this machine, and how each fact is known.
#include <limits>
#include <memory>

#include <CLI/CLI.hpp>

#include "fatctx/device.h"
#include "fatctx/file_mapping.h"
#include "tools/cli/command.h"
#include "tools/cli/print.h"
#include "tools/device/asked_device.h"

namespace fatctx::tools {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string mapping_text(const MappingCapability& mapping) {
  if (!mapping.available) return "not available: records are copied once per process";
  std::string text =
      mapping.provider + ", " + mapping.how + ", pages of " + std::to_string(mapping.page_bytes) + " bytes";
  if (mapping.granule_bytes != mapping.page_bytes) {
    text += ", maps from multiples of " + std::to_string(mapping.granule_bytes) + " on";
  }
  if (!mapping.stitched) text += ", no pieces side by side";
  return text + (mapping.sealed_memory ? ", sealed copies" : ", no sealed copies");
}

// Appends the source of a fact: "8 MB (soc0.soc_id, table)".
std::string with_origin(std::string value, const Detection& detection, std::string_view fact) {
  for (const FactOrigin& origin : detection.origins) {
    if (origin.fact == fact) value += " (" + origin.source + (origin.from_table ? ", table)" : ")");
  }
  return value;
}

void add_facts(Block& block, const Detection& detection, const Device& device) {
  const auto add = [&](const char* label, const char* fact, const std::string& value) {
    block.add(label, with_origin(value, detection, fact));
  };
  if (device.part) add("part", "part", *device.part);
  if (!detection.variant.empty()) add("variant", "variant", detection.variant);
  if (device.qnn_soc) add("qnn soc", "qnn_soc", std::to_string(*device.qnn_soc));
  if (device.arch) add("arch", "arch", *device.arch);
  if (device.vtcm_mb) add("vtcm", "vtcm_mb", std::to_string(*device.vtcm_mb) + " MB");
  if (detection.rule) block.add("rule", part_rule_name(*detection.rule));
}

std::string device_text(const Detection& detection) {
  const Device& device = detection.device;
  Block block;
  if (device.backend == "cpu" && (device.arch || !detection.npu)) {
    block.add("backend", device.backend);
    block.add("arch", device.arch.value_or("unknown"));
    block.add("features", device.features.empty() ? "none known" : joined(device.features));
  }
  if (detection.npu) {
    block.add("backend", detection.npu->backend);
    add_facts(block, detection, *detection.npu);
  }
  for (const NpuDevice& npu : detection.npu_devices) {
    block.add("npu", "device_id " + std::to_string(npu.device_id) + ", " + npu.node);
  }
  for (const std::string& warning : detection.warnings) block.add("warning", warning);
  block.add("soc table", detection.soc_table_version);
  block.add("mapping", mapping_text(file_mapping_capability()));
  Table table({{"source"}, {"state"}, {"note"}, {"value as read"}});
  for (const DetectionSource& source : detection.sources) {
    table.add_row({source.id, source.state, source.note, source.raw});
  }
  return block.text() + "\n" + table.text();
}

struct DeviceOptions {
  DetectOptions detect = {.environment = true};
  std::uint32_t vtcm_mb = 0;
  std::string soc_table;
  bool json = false;
};

Result<ExitCode> run_device(const DeviceOptions& options) {
  DetectOptions asked = options.detect;
  if (options.vtcm_mb != 0) asked.vtcm_mb = options.vtcm_mb;
  FATCTX_ASSIGN(asked.soc_table, asked_soc_table(options.soc_table));
  FATCTX_ASSIGN(const Detection detection, detect_device(asked));
  print_result(options.json ? detection_to_json(detection) + '\n' : device_text(detection));
  return ExitCode::kOk;
}

}  // namespace

void add_device(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<DeviceOptions>();
  CLI::App* command =
      describe(app, "device",
               {.purpose = "Print what this machine is, and how that is known",
                .synopsis = "fatctx device [options]",
                .examples = {"fatctx device", "fatctx device --json > phone.json", "fatctx device --root phone"},
                .more = "docs/cli/device.md; fatctx select --device-file reads the JSON"});
  command->add_option("--soc", options->detect.soc, "A SoC instead of this machine's: SM8750, 69, kernel:639, v79")
      ->type_name("TEXT");
  command->add_option("--vtcm-mb,--vtcm", options->vtcm_mb, "VTCM instead of the detected one, in MB")
      ->type_name("N")
      ->check(whole_number(1, std::numeric_limits<std::uint32_t>::max()));
  command->add_option("--root", options->detect.root, "A folder with the files of another machine")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory);
  command
      ->add_option("--soc-table", options->soc_table, "A table of SoCs; default FATCTX_SOC_TABLE, or the built-in one")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.detection/1)");
  command->callback([options, &outcome] { outcome.finish(run_device(*options)); });
}

}  // namespace fatctx::tools
