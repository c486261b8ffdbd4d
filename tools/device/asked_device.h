// The device that a command is about: described in words or in a file, or this machine.
#pragma once

#include <cstdint>
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
  std::string api;
  std::string blob;
  std::uint32_t vtcm_mb = 0;  // 0: as known
  std::string soc_table;
  [[nodiscard]] bool asked() const noexcept { return !device.empty() || !device_file.empty(); }
  // Facts that belong to a device, whichever it is.
  [[nodiscard]] bool stated() const noexcept {
    return !sdk.empty() || !api.empty() || !blob.empty() || vtcm_mb != 0 || !soc_table.empty();
  }
};

// --device, --device-file, --sdk, --api, --blob, --vtcm-mb, --soc-table.
void add_device_flags(CLI::App& command, DeviceFlags& flags);

// This machine if nothing else is asked for, or what FATCTX_SOC and its siblings put in its place; device_for() says
// which of its devices a container needs. Errors: invalid_argument, invalid_config, not_found, io.
[[nodiscard]] Result<Detection> asked_device(const DeviceFlags& flags);

// Puts what the flags say of a device, beside its name, into it. Errors: invalid_argument.
[[nodiscard]] Status add_stated_facts(const DeviceFlags& flags, Device& device);

// A device in words, with the table of SoCs that applies. Feature words that no machine is asked for are taken, and a
// note on stderr says so.
[[nodiscard]] Result<Device> device_in_words(const std::string& text, const std::string& soc_table = {});

// The table in `file`; without one that which FATCTX_SOC_TABLE names, or the built-in one.
[[nodiscard]] Result<SocTable> asked_soc_table(const std::string& file = {});

}  // namespace fatctx::tools
