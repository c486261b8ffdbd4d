// Probe for all other machines. On aarch64 without Linux, only the instruction set is known. Anything else is an
// unknown device, which only generic records fit.
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
