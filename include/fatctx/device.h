// What this machine is, and how that is known.
#pragma once

#include <string>
#include <vector>

#include "fatctx/select.h"

namespace fatctx {

struct DetectionSource {
  std::string id;     // "cpuid", "hwcap", "uname", ...
  std::string raw;    // the value as read
  std::string state;  // "used", "absent", "unreadable"
};

struct Detection {
  Device device;
  std::vector<DetectionSource> sources;
};

// Asks the processor (cpuid on x86-64, the auxiliary vector on aarch64). Never fails: an unknown machine is a Device
// whose fields are empty. Detection is advice; the load is the proof.
//
// Threads: from any thread. Cost: some microseconds; the answer is not cached.
[[nodiscard]] Detection detect_device();

}  // namespace fatctx
