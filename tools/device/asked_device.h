// Finds the device that a command is about: described in words or in a file, or this machine.
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
  std::uint32_t vtcm_mb = 0;  // 0: as detected
  std::string soc_table;
  [[nodiscard]] bool asked() const noexcept { return !device.empty() || !device_file.empty(); }
  // Returns true if the flags state facts of a device, whichever device it is.
  [[nodiscard]] bool stated() const noexcept {
    return !sdk.empty() || !api.empty() || !blob.empty() || vtcm_mb != 0 || !soc_table.empty();
  }
};

// Adds --device, --device-file, --sdk, --api, --blob, --vtcm-mb and --soc-table.
void add_device_flags(CLI::App& command, DeviceFlags& flags);

// The device of a command, and the table of SoCs by which it was understood; records are chosen by the same table.
struct AskedDevice {
  SocTable table;
  Detection detection;
};

// Returns the device that the flags describe. The default is this machine, or the one that FATCTX_SOC and its
// siblings describe instead; device_for() tells which of its devices a container needs.
// Errors: invalid_argument, invalid_config, not_found, io.
[[nodiscard]] Result<AskedDevice> asked_device(const DeviceFlags& flags);

// Adds the facts that the flags state to a device, all but its name. Errors: invalid_argument.
[[nodiscard]] Status add_stated_facts(const DeviceFlags& flags, Device& device);

// Parses a device in words. Unknown feature words are accepted, and a note on stderr names them.
[[nodiscard]] Result<Device> device_in_words(const std::string& text, const SocTable& table);

// Returns the table in `file`. If `file` is empty, returns the one that FATCTX_SOC_TABLE names, or the
// built-in one. A command calls this or asked_device() once.
[[nodiscard]] Result<SocTable> asked_soc_table(const std::string& file = {});

}  // namespace fatctx::tools
