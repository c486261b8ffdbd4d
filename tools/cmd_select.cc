// fatctx select: which record a device gets, and why not each of the others. Needs no device: one can be described.
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "fatctx/container.h"
#include "fatctx/device.h"
#include "fatctx/select.h"
#include "tools/command.h"
#include "tools/find_record.h"
#include "tools/print.h"
#include "tools/recording.h"

namespace fatctx::tools {

namespace {

struct SelectOptions {
  std::string path;
  std::uint64_t generation = 0;
  std::string device;
  std::string device_file;
  std::string sdk;
  std::string record;
  SelectPolicy policy;
  bool no_generic = false;
  bool json = false;
};

Result<std::string> read_device_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, fmt::format("{}: the device file cannot be opened", path)};
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return Error{ErrorCode::kIo, fmt::format("{}: the device file cannot be read", path)};
  return text;
}

// `fatctx device --json` wraps the device together with how it was found; the bare description is taken as well.
std::string bare_description(const std::string& text) {
  // Writing JSON is recursive: what is nested deeper than any device description is dropped while reading.
  constexpr int kMaxDepth = 16;
  const auto shallow = [](int depth, nlohmann::ordered_json::parse_event_t, const nlohmann::ordered_json&) {
    return depth <= kMaxDepth;
  };
  const auto json = nlohmann::ordered_json::parse(text, shallow, false);
  const bool wrapped = json.is_object() && json.value("schema", nlohmann::ordered_json()) == "fatctx.detection/1";
  return wrapped && json.contains("device") ? json["device"].dump() : text;
}

Result<Device> asked_device(const SelectOptions& options) {
  if (!options.device.empty()) return device_from_text(options.device);
  if (options.device_file.empty()) return detect_device().device;
  FATCTX_ASSIGN(const std::string text, read_device_file(options.device_file));
  auto device = device_from_json(bare_description(text));
  if (!device.ok()) return in_context(std::move(device).error(), options.device_file);
  return device;
}

Result<ExitCode> run_select(const SelectOptions& options) {
  FATCTX_ASSIGN(Device device, asked_device(options));
  if (!options.sdk.empty()) {
    FATCTX_ASSIGN(const Version sdk, parse_version(options.sdk));
    device.sdk = sdk;
  }
  FATCTX_ASSIGN(const Container container, Container::open(options.path, {.generation = options.generation}));
  SelectPolicy policy = options.policy;
  policy.allow_generic = !options.no_generic;
  if (!options.record.empty()) {
    FATCTX_ASSIGN(const RecordInfo record, find_record(container, options.record));
    policy.record_override = std::string(record.name);
  }
  const std::vector<Candidate> candidates = container.candidates();
  FATCTX_ASSIGN(const Selection selection, container.select(device, policy));
  if (options.json) {
    print_result(json_text(nlohmann::ordered_json::parse(explain_json(selection, candidates, device, policy))));
  } else {
    print_result(escaped_lines(explain_text(selection, candidates, device, policy)));
  }
  return selection.chosen.empty() ? ExitCode::kNoMatch : ExitCode::kOk;
}

}  // namespace

void add_select(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<SelectOptions>();
  CLI::App* command = describe(
      app, "select",
      {.purpose = "Say which record a device gets, and why not the others",
       .synopsis = "fatctx select FILE [options]",
       .examples = {"fatctx select model.fatctx", "fatctx select model.fatctx --device aarch64+dotprod --json"},
       .more = "docs/cli.md, docs/selection.md; exit code 4: nothing fits"});
  command->add_option("FILE", options->path, "The container")->required();
  auto* device = command->add_option("--device", options->device, "A device in words; default: this machine");
  device->type_name("TEXT");
  command->add_option("--device-file", options->device_file, "A device as JSON, from `fatctx device --json`")
      ->type_name("JSON")
      ->excludes(device);
  command->add_option("--sdk", options->sdk, "SDK version on the device")->type_name("VERSION");
  command->add_option("--group", options->policy.group, "The graph group, if there are several")->type_name("GROUP");
  command->add_option("--record", options->record, "Take this context binary, if it fits")->type_name("NAME");
  command->add_flag("--strict", options->policy.strict, "Only records that fully use the device");
  command->add_flag("--allow-lower-arch", options->policy.allow_lower_arch, "Accept records for a lower Hexagon arch");
  command->add_flag("--no-generic", options->no_generic, "Do not fall back to generic records");
  add_generation(*command, options->generation);
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.selection/1)");
  const auto recording = add_recording(*command);
  command->callback(
      [options, recording, &outcome] { outcome.finish(recorded(*recording, [&] { return run_select(*options); })); });
}

}  // namespace fatctx::tools
