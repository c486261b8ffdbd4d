#include "tools/asked_device.h"

#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace fatctx::tools {

namespace {

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

Result<Device> described(const DeviceFlags& flags) {
  if (!flags.device.empty()) return device_from_text(flags.device);
  if (flags.device_file.empty()) return detect_device().device;
  FATCTX_ASSIGN(const std::string text, read_device_file(flags.device_file));
  auto device = device_from_json(bare_description(text));
  if (!device.ok()) return in_context(std::move(device).error(), flags.device_file);
  return device;
}

}  // namespace

void add_device_flags(CLI::App& command, DeviceFlags& flags) {
  auto* device = command.add_option("--device", flags.device, "A device in words; default: this machine");
  device->type_name("TEXT");
  command.add_option("--device-file", flags.device_file, "A device as JSON, from `fatctx device --json`")
      ->type_name("JSON")
      ->excludes(device);
  command.add_option("--sdk", flags.sdk, "SDK version on the device")->type_name("VERSION");
}

Result<Device> asked_device(const DeviceFlags& flags) {
  FATCTX_ASSIGN(Device device, described(flags));
  if (!flags.sdk.empty()) {
    FATCTX_ASSIGN(const Version sdk, parse_version(flags.sdk));
    device.sdk = sdk;
  }
  return device;
}

}  // namespace fatctx::tools
