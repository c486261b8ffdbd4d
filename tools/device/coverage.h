// Tells which record each of many devices gets: which devices a container covers, and which not.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/select.h"
#include "tools/device/asked_device.h"

namespace fatctx::tools {

struct NamedDevice {
  std::string name;  // as the command line names it, or the part of the table
  Device device;
};

struct CoveredDevice {
  NamedDevice asked;
  Selection selection;
};

// Returns the devices to judge a container by. First come the parts of the table whose backend some context
// binary has and of which enough is known. The levels of the processors that the container has binaries for
// follow. `flags` state the facts that all of them share (--sdk, --vtcm-mb).
[[nodiscard]] Result<std::vector<NamedDevice>> known_devices(std::span<const Candidate> candidates,
                                                             const DeviceFlags& flags, const SocTable& table);
// Parses devices in words, separated by commas. "@FILE" stands for the lines of a file; lines that begin with
// # are ignored. Errors: invalid_argument (a device that cannot be understood, an empty list), not_found, io.
[[nodiscard]] Result<std::vector<NamedDevice>> listed_devices(const std::string& list, const DeviceFlags& flags,
                                                              const SocTable& table);

[[nodiscard]] Result<std::vector<CoveredDevice>> cover(const Container& container, std::vector<NamedDevice> devices,
                                                       const SelectPolicy& policy);

// Returns a table with one row per device, and the sum.
[[nodiscard]] std::string coverage_text(const Container& container, std::span<const CoveredDevice> devices);
// Returns JSON of schema "fatctx.coverage/1".
[[nodiscard]] Json coverage_json(const Container& container, std::span<const CoveredDevice> devices);

}  // namespace fatctx::tools
