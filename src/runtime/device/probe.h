// Asking the machine. One probe_*.cc is compiled in for each kind of machine; the others are empty there.
#pragma once

#include <optional>
#include <string>

#include "fatctx/device.h"
#include "runtime/device/cpu_facts.h"

namespace fatctx::runtime {

struct CpuProbe {
  CpuTarget target;  // empty if nothing could be read
  std::vector<DetectionSource> sources;
};

// Never fails and never blocks. Threads: any.
[[nodiscard]] CpuProbe probe_cpu();

// A variable of the environment; nothing if it is not set or empty. Only for callers that asked for the environment.
[[nodiscard]] std::optional<std::string> environment_variable(const char* name);

}  // namespace fatctx::runtime
