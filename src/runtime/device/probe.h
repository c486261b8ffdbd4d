// Queries the machine. One probe_*.cc exists for each kind of machine; on other machines it compiles to nothing.
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

// Queries the processor. Never fails and never blocks. Threads: any.
[[nodiscard]] CpuProbe probe_cpu();

// Returns a variable of the environment, or nothing if it is unset or empty. Only for callers whose options request the
// environment.
[[nodiscard]] std::optional<std::string> environment_variable(const char* name);

}  // namespace fatctx::runtime
