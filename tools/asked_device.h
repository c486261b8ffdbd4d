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

// This machine if nothing else is asked for. Errors: invalid_argument, not_found, io.
[[nodiscard]] Result<Device> asked_device(const DeviceFlags& flags);

}  // namespace fatctx::tools
