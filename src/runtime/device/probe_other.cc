// Machines without a probe of their own: an aarch64 system that is not Linux is known by its instruction set, anything
// else is an unknown device, which only generic records fit.
#if !defined(__x86_64__) && !(defined(__aarch64__) && defined(__linux__))

#include "runtime/device/probe.h"

namespace fatctx::runtime {
namespace {

#if defined(__aarch64__)
constexpr const char* kArch = "aarch64";
#else
constexpr const char* kArch = "";
#endif

}  // namespace

CpuProbe probe_cpu() {
  return {.target = {.arch = kArch, .features = {}},
          .sources = {{.id = "generic", .raw = kArch, .state = *kArch == '\0' ? "absent" : "used"}}};
}

}  // namespace fatctx::runtime

#endif
