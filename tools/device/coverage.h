// Which record each of many devices gets: what a container covers, and what it leaves out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/select.h"
#include "tools/device/asked_device.h"

namespace fatctx::tools {

struct NamedDevice {
  std::string name;  // as it was asked for, or the part of the table
  Device device;
};

struct CoveredDevice {
  NamedDevice asked;
  Selection selection;
};

// Every part of the table whose backend some context binary of the container has and of which enough is known to judge,
// and the levels of the processors that the container has binaries for. `flags` tells what is the same for all of them
// (--sdk, --vtcm-mb).
[[nodiscard]] Result<std::vector<NamedDevice>> known_devices(std::span<const Candidate> candidates,
                                                             const DeviceFlags& flags);
// Devices in words, with commas between them; "@FILE" stands for the lines of a file, of which those that begin with #
// say nothing. Errors: invalid_argument (a device that cannot be understood, a list of none), not_found, io.
[[nodiscard]] Result<std::vector<NamedDevice>> listed_devices(const std::string& list, const DeviceFlags& flags);

[[nodiscard]] Result<std::vector<CoveredDevice>> cover(const Container& container, std::vector<NamedDevice> devices,
                                                       const SelectPolicy& policy);

// A row a device, and the sum.
[[nodiscard]] std::string coverage_text(const Container& container, std::span<const CoveredDevice> devices);
// Schema "fatctx.coverage/1".
[[nodiscard]] nlohmann::ordered_json coverage_json(const Container& container, std::span<const CoveredDevice> devices);

}  // namespace fatctx::tools
