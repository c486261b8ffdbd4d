// fatctx device: what this machine is, and how that is known.
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "fatctx/device.h"
#include "fatctx/file_mapping.h"
#include "tools/command.h"
#include "tools/print.h"

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

std::string device_text(const Detection& detection) {
  const Device& device = detection.device;
  Block block;
  block.add("backend", device.backend);
  block.add("arch", device.arch.value_or("unknown"));
  block.add("features", device.features.empty() ? "none known" : joined(device.features));
  if (device.part) block.add("part", *device.part);
  if (device.qnn_soc) block.add("qnn soc", std::to_string(*device.qnn_soc));
  if (device.vtcm_mb) block.add("vtcm", std::to_string(*device.vtcm_mb) + " MB");
  if (device.sdk) block.add("sdk", to_text(*device.sdk));
  if (device.api) block.add("api", to_text(*device.api));
  if (device.blob) block.add("blob", to_text(*device.blob));
  block.add("mapping", mapping_text(file_mapping_capability()));
  Table table({{"source"}, {"state"}, {"value as read"}});
  for (const DetectionSource& source : detection.sources) table.add_row({source.id, source.state, source.raw});
  return block.text() + "\n" + table.text();
}

Result<ExitCode> run_device(bool json) {
  const Detection detection = detect_device();
  if (!json) {
    print_result(device_text(detection));
    return ExitCode::kOk;
  }
  nlohmann::ordered_json printed = {{"schema", "fatctx.detection/1"},
                                    {"device", nlohmann::ordered_json::parse(device_to_json(detection.device))},
                                    {"sources", nlohmann::ordered_json::array()}};
  const MappingCapability mapping = file_mapping_capability();
  printed["file_mapping"] = {{"available", mapping.available},         {"how", mapping.how},
                             {"page_bytes", mapping.page_bytes},       {"provider", mapping.provider},
                             {"granule_bytes", mapping.granule_bytes}, {"stitched", mapping.stitched},
                             {"sealed_memory", mapping.sealed_memory}};
  for (const DetectionSource& source : detection.sources) {
    printed["sources"].push_back({{"id", source.id}, {"state", source.state}, {"raw", source.raw}});
  }
  print_result(json_text(printed));
  return ExitCode::kOk;
}

}  // namespace

void add_device(CLI::App& app, Outcome& outcome) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = describe(app, "device",
                               {.purpose = "Print what this machine is, and how that is known",
                                .synopsis = "fatctx device [options]",
                                .examples = {"fatctx device", "fatctx device --json > phone.json"},
                                .more = "docs/cli.md; fatctx select --device-file reads the JSON"});
  command->add_flag("--json", *json, "Print JSON (schema fatctx.detection/1)");
  command->callback([json, &outcome] { outcome.finish(run_device(*json)); });
}

}  // namespace fatctx::tools
