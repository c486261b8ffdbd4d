// Probe for aarch64 on Linux and Android: reads the auxiliary vector, which the kernel passes to every process.
#if defined(__aarch64__) && defined(__linux__)

#include <fmt/format.h>
#include <sys/auxv.h>

#include "runtime/device/probe.h"

namespace fatctx::runtime {

CpuProbe probe_cpu() {
  const Aarch64Facts facts = {.hwcap = getauxval(AT_HWCAP), .hwcap2 = getauxval(AT_HWCAP2)};
  return {.target = aarch64_target(facts),
          .sources = {{.id = "hwcap", .raw = fmt::format("{:#x}", facts.hwcap), .state = "used"},
                      {.id = "hwcap2", .raw = fmt::format("{:#x}", facts.hwcap2), .state = "used"}}};
}

}  // namespace fatctx::runtime

#endif
