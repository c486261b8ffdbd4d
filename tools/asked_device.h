// The device that a command is about: described in words or in a file, or this machine.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "fatctx/device.h"

namespace CLI {
class App;
}

namespace fatctx::tools {

struct DeviceFlags {
  std::string device;
  std::string device_file;
  std::string sdk;
  [[nodiscard]] bool asked() const noexcept { return !device.empty() || !device_file.empty(); }
};

// --device, --device-file, --sdk.
void add_device_flags(CLI::App& command, DeviceFlags& flags);

// This machine if nothing else is asked for, or what FATCTX_SOC and its siblings put in its place; device_for() says
// which of its devices a container needs. Errors: invalid_argument, invalid_config, not_found, io.
[[nodiscard]] Result<Detection> asked_device(const DeviceFlags& flags);

// A device in words, with the table of SoCs that applies.
[[nodiscard]] Result<Device> device_in_words(const std::string& text);

// The table in `file`; without one that which FATCTX_SOC_TABLE names, or the built-in one.
[[nodiscard]] Result<SocTable> asked_soc_table(const std::string& file = {});

}  // namespace fatctx::tools
